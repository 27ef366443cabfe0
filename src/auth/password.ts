/** The password of `Authorization: Basic`, of whichever user: how Git's clients show a token or a key. Null: there is none. */
export function passwordIn(authorization: string | undefined): string | null {
  const [, encoded = null] = /^basic +(\S+) *$/i.exec(authorization ?? '') ?? []
  if (encoded === null) return null
  const [, password = ''] = /^[^:]*:(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? []
  return password
}
