/** A button that copies a text. */
import { useState } from 'preact/hooks'

interface CopyProps {
  readonly text: string | (() => string)
  readonly children: string
}

export function Copy({ text, children }: CopyProps) {
  const [isDone, setIsDone] = useState(false)
  const copy = async (): Promise<void> => {
    await write(typeof text === 'string' ? text : text())
    setIsDone(true)
    setTimeout(() => setIsDone(false), 2_000)
  }
  return (
    <button type="button" class="quiet" onClick={() => void copy()}>
      {children}
      <span role="status" class="copied">
        {isDone && ' ✓'}
      </span>
    </button>
  )
}

/** Without TLS, browsers have no clipboard except through a selection. */
async function write(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const field = document.createElement('textarea')
  field.value = text
  document.body.append(field)
  field.select()
  document.execCommand('copy')
  field.remove()
}
