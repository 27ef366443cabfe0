/**
 * The class of all servers' requests. A body has no reader until the credential of its caller is known. Node keeps up to 64 KiB of it meanwhile, and
 * a piece of one byte takes four hundred bytes as a buffer of its own. So all pieces but the first are copied together.
 */
import { IncomingMessage } from 'node:http'
import { gather } from './gather.ts'

/** For the option `IncomingMessage` of an HTTP server. */
export class CompactRequest extends IncomingMessage {
  #waiting: ReturnType<typeof gather> | null = null
  #size = 0
  #hasReader = false

  /** False: Node stops reading from the connection. */
  override push(piece: Buffer | null): boolean {
    if (piece === null || this.#hasReader || (this.#waiting === null && this.readableLength === 0)) {
      this.#handOver()
      return super.push(piece)
    }
    this.#waiting ??= gather()
    this.#waiting.add(piece)
    this.#size += piece.length
    return this.readableLength + this.#size < this.readableHighWaterMark
  }

  override _read(size: number): void {
    this.#hasReader = true
    this.#handOver()
    super._read(size)
  }

  #handOver(): void {
    if (this.#waiting === null) return
    const pieces = this.#waiting.take()
    this.#waiting = null
    super.push(pieces)
  }
}
