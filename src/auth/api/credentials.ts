/** What a request brings along to say whose it is, wherever it may stand. */
import type { IncomingHttpHeaders } from 'node:http'

export interface Presented {
  /** Of `Authorization: Bearer …` or `X-API-Key: …`; null: neither. */
  readonly token: string | null
  /** Of our cookie. */
  readonly cookie: string | null
  /** For the audit log. */
  readonly address: string
}

const cookieNames = ['__Host-rollcall', 'rollcall']

export function cookieName(isSecure: boolean): string {
  return isSecure ? '__Host-rollcall' : 'rollcall'
}

type Get = (name: string) => string | null | undefined

export function readCredentials(get: Get, address: string): Presented {
  const [, bearer = null] = /^Bearer +(\S+) *$/i.exec(get('authorization') ?? '') ?? []
  return { token: bearer ?? (get('x-api-key')?.trim() || null), cookie: readCookie(get('cookie') ?? ''), address }
}

export function ofHeaders(headers: IncomingHttpHeaders): Get {
  return (name) => {
    const value = headers[name]
    return Array.isArray(value) ? value.join('; ') : value
  }
}

/** `connectionInit`'s payload: members named as the headers, in any case. */
export function ofPayload(payload: unknown): Get {
  const members = Object.entries(typeof payload === 'object' && payload !== null ? payload : {})
  return (name) => {
    const [, value] = members.find(([member]) => member.toLowerCase() === name) ?? []
    return typeof value === 'string' ? value : null
  }
}

function readCookie(header: string): string | null {
  for (const part of header.split(';')) {
    const cut = part.indexOf('=')
    if (cut > 0 && cookieNames.includes(part.slice(0, cut).trim())) return part.slice(cut + 1).trim() || null
  }
  return null
}
