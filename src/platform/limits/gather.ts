/**
 * The pieces of a body, until it is complete. The sender chooses their size: in chunked encoding a piece may have one byte, and a buffer of its
 * own needs some four hundred. So small pieces are copied together. Nearly every body is one piece, which is not copied.
 */
interface Gathered {
  add(piece: Buffer): void
  /** All bytes so far. It holds nothing afterwards. */
  take(): Buffer
  /** It holds nothing afterwards. */
  drop(): void
}

/** Bytes. */
const small = 1 << 10
const blockSize = 16 << 10
const noBytes = Buffer.alloc(0)

export function gather(): Gathered {
  let parts: Buffer[] = []
  let block = noBytes
  /** The bytes of the block that are filled, and those of them that are in `parts`. */
  let [filled, noted] = [0, 0]

  function note(): void {
    if (filled > noted) parts.push(block.subarray(noted, filled))
    noted = filled
  }

  function drop(): void {
    parts = []
    block = noBytes
    filled = noted = 0
  }

  return {
    add(piece) {
      if (piece.length >= small || (parts.length === 0 && filled === 0)) {
        note()
        parts.push(piece)
        return
      }
      if (filled + piece.length > block.length) {
        note()
        block = Buffer.allocUnsafeSlow(blockSize)
        filled = noted = 0
      }
      filled += piece.copy(block, filled)
    },
    take() {
      note()
      const [only] = parts
      const all = parts.length === 1 && only ? only : Buffer.concat(parts)
      drop()
      return all
    },
    drop,
  }
}
