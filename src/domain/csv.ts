/** A field of CSV that a person may open in a spreadsheet (RFC 4180, section 2). A device chooses its texts. */
import { escapeHidden } from './look-alike.ts'

/** In quotes. */
export const csvField = (text: string): string => `"${text.replaceAll('"', '""')}"`

/** A spreadsheet would run a text that begins like a formula; some read full-width signs, too (OWASP, CSV injection). Hidden characters are escaped. */
export const csvText = (text: string): string =>
  csvField(
    text
      .split('\r\n')
      .map(escapeHidden)
      .join('\r\n')
      .replace(/^[=+\-@\t\r\n＝＋－＠]/, "'$&"),
  )
