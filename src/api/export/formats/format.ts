/** What a format is. */
import type { Column, Row } from '../columns.ts'

export interface Encoder {
  /** Returns what can be sent by now. */
  add(rows: readonly Row[]): Buffer
  /** Returns the rest. */
  end(): Buffer
}

export interface Format {
  readonly name: string
  /** The first one is sent. */
  readonly mediaTypes: readonly string[]
  readonly extension: string
  /** `isContinued`: the client has the rows before, so the header is left out if two parts together are a file. */
  encode(columns: readonly Column[], isContinued: boolean): Promise<Encoder>
}
