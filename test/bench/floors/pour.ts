/** The floor of a storm: a client says how many bytes it wants, and receives so many as fast as its socket takes them. */
import { type AddressInfo, createServer } from 'node:net'
import { tellReady } from '../harness/listen.ts'

const chunk = Buffer.alloc(64 * 1024, 'x')

const server = createServer({ noDelay: true }, (socket) => {
  let left = 0
  const pour = (): void => {
    for (let goesOn = true; goesOn && left > 0; ) {
      const part = chunk.subarray(0, Math.min(left, chunk.length))
      left -= part.length
      goesOn = socket.write(part)
    }
  }
  socket.on('error', () => socket.destroy())
  socket.on('drain', pour)
  socket.on('data', (wanted) => {
    left += Number(wanted)
    pour()
  })
})
server.listen(0, '127.0.0.1', () => tellReady((server.address() as AddressInfo).port))
