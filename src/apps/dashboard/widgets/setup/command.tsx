/** A command to copy, or a secret: as long as it is shown, it can be selected by keyboard. Long lines wrap, so all of it is seen. */
import { watchCommand, whereToRun } from '../../data/commands.ts'
import { Copy } from '../deployment/copy.tsx'

interface CommandProps {
  /** What it does: the name of its text for screen readers. */
  readonly label: string
  readonly children: string
}

export function Command({ label, children }: CommandProps) {
  return (
    <figure class="command">
      <figcaption>
        <span>{label}</span>
        <Copy text={children}>Copy</Copy>
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what is shown once is reached by keyboard. */}
      <pre tabIndex={0}>{children}</pre>
    </figure>
  )
}

/** `apiKey` null: it is in the environment, or none is necessary. */
export function Watch({ apiKey = null }: { readonly apiKey?: string | null }) {
  const command = watchCommand(apiKey)
  return <Command label={`Follow changes in a terminal${whereToRun(command)}`}>{command}</Command>
}
