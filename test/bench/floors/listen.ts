/** The floor of a start: a process of Node that listens. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tellReady } from '../harness/listen.ts'

const server = createServer((_, response) => response.end())
server.listen(0, '127.0.0.1', () => tellReady((server.address() as AddressInfo).port))
