/** The password of `Authorization: Basic`, for any user name. Git clients send a token or a key this way. Null: the request has no password. */
export function passwordIn(authorization: string | undefined): string | null {
  const [, encoded = null] = /^basic +(\S+) *$/i.exec(authorization ?? '') ?? []
  if (encoded === null) return null
  const [, password = ''] = /^[^:]*:(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? []
  return password
}
