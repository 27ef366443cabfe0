/** Conditional requests and content negotiation (RFC 9110). */

/** Whether `If-None-Match` has this tag, so the client already has the response. The comparison is weak, as the RFC requires. */
export function hasAlready(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === '*') return true
  return (ifNoneMatch.match(/"[^"]*"/g) ?? []).some((tag) => tag === etag)
}

/** Whether `Accept` allows this type. The most specific range decides. */
export function accepts(accept: string | undefined, mediaType: string): boolean {
  if (accept === undefined || accept.trim() === '') return true
  const [type = ''] = mediaType.split('/')
  const ranges = new Map(mediaRanges(accept).map(({ range, quality }) => [range, quality]))
  const quality = ranges.get(mediaType) ?? ranges.get(`${type}/*`) ?? ranges.get('*/*') ?? 0
  return quality > 0
}

/** Whether `Accept` names this type, and prefers it to the other one or to any type. */
export function prefers(accept: string | undefined, mediaType: string, other: string): boolean {
  const ranges = mediaRanges(accept ?? '')
  const best = (names: readonly string[]): number =>
    Math.max(0, ...ranges.filter(({ range }) => names.includes(range)).map(({ quality }) => quality))
  const quality = best([mediaType])
  return quality > 0 && quality >= best([other, '*/*'])
}

interface AcceptedRange {
  readonly range: string
  readonly quality: number
}

/** The media ranges of `Accept`, in lower case. */
export function mediaRanges(accept: string): AcceptedRange[] {
  return accept.split(',').map((text) => {
    const [range = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
    return { range, quality: quality === undefined ? 1 : Number(quality) || 0 }
  })
}
