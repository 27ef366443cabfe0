/** The floor of a fan-out: one string is sent to every socket that a plain `ws` server has, when a report comes in. */
import { createServer } from 'node:http'
import { WebSocketServer } from 'ws'
import { listen } from '../harness/listen.ts'

const sockets = new WebSocketServer({
  noServer: true,
  perMessageDeflate: false,
  handleProtocols: () => 'graphql-transport-ws',
})
sockets.on('connection', (socket) => {
  socket.on('message', (message) => {
    const { type } = JSON.parse(message.toString()) as { type: string }
    if (type === 'connection_init') socket.send('{"type":"connection_ack"}')
  })
})

let revision = 1_780_000_000_000_000

const server = createServer((request, response) => {
  request.resume().on('end', () => {
    revision += 3
    const rollout = `{"name":"hot","deploymentCounts":{"total":100,"installed":50,"failed":0}}`
    const text = `{"id":"1","type":"next","payload":{"data":{"rollout":{"cursor":"${revision}","rollout":${rollout}}}}}`
    for (const socket of sockets.clients) socket.send(text)
    response.writeHead(201, { 'content-type': 'application/json', 'content-length': 2 }).end('{}')
  })
})
server.on('upgrade', (request, socket, head) =>
  sockets.handleUpgrade(request, socket, head, (client) => sockets.emit('connection', client, request)),
)
listen(server)
