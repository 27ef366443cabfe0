/** The codings of bodies (RFC 9110 §8.4). A body is decoded after its sender is known, since a signature covers it as it was sent (RFC 9530). */
import { constants, createGunzip, createZstdDecompress } from 'node:zlib'
import { DomainError } from '../../domain/errors.ts'
import { gather } from './gather.ts'

/** The decoder of a zstd frame allocates the window that the frame asks for: at most 2^this bytes, as the usual levels do. Its default would be 128 MiB. */
const largestWindow = 23

const decoders = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  zstd: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: largestWindow } }),
}

/** For the response header Accept-Encoding. */
export const acceptedCodings = 'gzip, zstd'

/** Throws UNSUPPORTED_MEDIA_TYPE. Null: not coded. */
export function codingOf(header: string | undefined): keyof typeof decoders | null {
  const coding = (header || 'identity').toLowerCase()
  if (coding === 'identity') return null
  if (Object.hasOwn(decoders, coding)) return coding as keyof typeof decoders
  const message = `${coding} is not supported: send the body as one of ${acceptedCodings}, or without an encoding`
  throw new DomainError('UNSUPPORTED_MEDIA_TYPE', `a body of Content-Encoding ${message}`, {
    problems: [{ field: 'Content-Encoding', message }],
  })
}

/** `grow` is called before more bytes are kept, and may throw. Throws INVALID_REQUEST when the body is not in this coding. */
export async function decode(
  coding: keyof typeof decoders,
  sent: Uint8Array,
  grow: (size: number) => void,
): Promise<Buffer> {
  const decoder = decoders[coding]()
  const body = gather()
  let size = 0
  decoder.end(sent)
  try {
    for await (const piece of decoder) {
      size += piece.length
      grow(size)
      body.add(piece)
    }
    return body.take()
  } catch (error) {
    // Only errors of zlib have a number.
    if (!(error instanceof Error && 'errno' in error)) throw error
    const message = `is not ${coding}, or ends too early`
    const problems = [{ field: 'Content-Encoding', message }]
    throw new DomainError('INVALID_REQUEST', `the body ${message}`, { problems, cause: error })
  }
}
