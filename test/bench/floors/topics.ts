/** The floor of selective fan-out: a Map from a topic to its sockets, and one string to those of the topic that a report names. */
import { createServer } from 'node:http'
import { type WebSocket, WebSocketServer } from 'ws'
import { listen } from '../harness/listen.ts'

const topics = new Map<string, Set<WebSocket>>()
const sockets = new WebSocketServer({
  noServer: true,
  perMessageDeflate: false,
  handleProtocols: () => 'graphql-transport-ws',
})
sockets.on('connection', (socket) => {
  socket.on('message', (message) => {
    const { type, payload } = JSON.parse(message.toString()) as {
      type: string
      payload?: { variables: { id: string } }
    }
    if (type === 'connection_init') socket.send('{"type":"connection_ack"}')
    if (type !== 'subscribe' || !payload) return
    const { id } = payload.variables
    const members = topics.get(id) ?? new Set()
    topics.set(id, members.add(socket))
  })
})

let revision = 1_780_000_000_000_000

const server = createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8').on('data', (chunk: string) => {
    body += chunk
  })
  request.on('end', () => {
    revision += 3
    const { deploymentId, status } = JSON.parse(body) as { deploymentId: string; status: { state: string } }
    const deployment = `{"deploymentId":"${deploymentId}","state":"${status.state}"}`
    const text = `{"id":"1","type":"next","payload":{"data":{"deployment":{"cursor":"${revision}","deployment":${deployment}}}}}`
    for (const socket of topics.get(deploymentId) ?? []) socket.send(text)
    response.writeHead(201, { 'content-type': 'application/json', 'content-length': 2 }).end('{}')
  })
})
server.on('upgrade', (request, socket, head) =>
  sockets.handleUpgrade(request, socket, head, (client) => sockets.emit('connection', client, request)),
)
listen(server)
