/** A message as an HTTP request, so that the methods of DEVICE_AUTH read credentials from its user properties as from headers. */
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { DomainError } from '../../domain/errors.ts'
import type { Message } from './intake.ts'
import { longestUserProperties, propertyOverhead } from './packet-guard.ts'

/** It is never connected, so no method finds a certificate or an address. */
const nowhere = new Socket()

/** The target URI of the request is `mqtt://` and the topic. Throws LIMIT_EXCEEDED. */
export function toRequest(prefix: string, { topic, properties }: Message): IncomingMessage {
  const request = new IncomingMessage(nowhere)
  // A method that HTTP does not know: no signature of an HTTP request is valid for a message, and none of a message for HTTP.
  request.method = 'PUBLISH'
  request.url = topic.slice(prefix.length)
  const { userProperties = {}, contentType } = properties
  const given = Object.entries(userProperties).map(([name, values]) => [name, [values].flat()] as const)
  let size = 0
  for (const [name, values] of given)
    for (const value of values) size += Buffer.byteLength(name) + Buffer.byteLength(value) + propertyOverhead
  if (size > longestUserProperties)
    throw new DomainError(
      'LIMIT_EXCEEDED',
      `the user properties have more than ${longestUserProperties} bytes, which is more than is read`,
    )
  // A name such as "constructor" is a property of every other object.
  const headers: Record<string, string[]> = Object.create(null)
  for (const [sent, values] of given) {
    const name = sent.toLowerCase()
    headers[name] ??= []
    headers[name].push(...values)
  }
  // Another name for the same property would not be what the broker and other clients see.
  delete headers['content-type']
  if (contentType !== undefined) headers['content-type'] = [contentType]
  request.headersDistinct = headers
  request.headers = Object.fromEntries(Object.entries(headers).map(([name, values]) => [name, values.join(', ')]))
  return request
}
