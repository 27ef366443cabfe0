/** What a request says of the answers it would take (RFC 9110). */

/** Whether `If-None-Match` has this one: whoever shows it has what would be sent. Compared weakly, as it says. */
export function hasAlready(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === '*') return true
  return (ifNoneMatch.match(/"[^"]*"/g) ?? []).some((tag) => tag === etag)
}

/** Whether `Accept` allows this type: the most specific of its ranges decides. */
export function accepts(accept: string | undefined, mediaType: string): boolean {
  if (accept === undefined || accept.trim() === '') return true
  const [type = ''] = mediaType.split('/')
  const ranges = new Map(accept.split(',').map(readRange))
  const quality = ranges.get(mediaType) ?? ranges.get(`${type}/*`) ?? ranges.get('*/*') ?? 0
  return quality > 0
}

function readRange(text: string): [range: string, quality: number] {
  const [range = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
  return [range, quality === undefined ? 1 : Number(quality) || 0]
}
