/** Saves a list as CSV or JSON. */
import { useState } from 'preact/hooks'
import { ApiError } from '../../../client/client.ts'
import { type Columns, writeList } from '../../data/export.ts'
import { ErrorMessage } from '../error-message.tsx'

interface ExportProps<Row> {
  /** Of the file. */
  readonly name: string
  readonly pages: () => AsyncIterable<readonly Row[]>
  readonly columns: Columns<Row>
}

const types = { csv: 'text/csv', json: 'application/json' } as const

export function ExportButtons<Row>({ name, pages, columns }: ExportProps<Row>) {
  const [isBusy, setIsBusy] = useState(false)
  const [error, setError] = useState<ApiError | null>(null)
  const save = async (format: keyof typeof types): Promise<void> => {
    if (isBusy) return
    setIsBusy(true)
    setError(null)
    try {
      const text = await writeList(format, pages(), columns)
      const link = document.createElement('a')
      link.href = URL.createObjectURL(new Blob([text], { type: types[format] }))
      link.download = `${name}.${format}`
      link.click()
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
    } catch (failure) {
      setError(failure instanceof ApiError ? failure : new ApiError('UNKNOWN', String(failure)))
    }
    setIsBusy(false)
  }
  return (
    <span class="exports" role="group" aria-label="Save this list">
      {(['csv', 'json'] as const).map((format) => (
        <button key={format} type="button" class="quiet" aria-disabled={isBusy} onClick={() => void save(format)}>
          {format.toUpperCase()}
        </button>
      ))}
      {error && <ErrorMessage error={error} isOnce />}
    </span>
  )
}
