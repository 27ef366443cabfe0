/** The variables of traces. They have the names that OpenTelemetry's specification gives them. */
import { z } from 'zod'
import type { TracesConfig } from '../../outlets/traces/config.ts'
import { isWeb } from './addresses.ts'

/** The message does not quote the URL, which may hold a password. */
const collectorUrl = z.string().refine((text) => isWeb(URL.parse(text)), {
  error:
    'must be an http or https URL without a user and a password (OTEL_EXPORTER_OTLP_HEADERS), and its host without a dot at the end',
})
/** `name=value` pairs, whose values are percent-encoded. The message does not quote them. */
const headers = z.string().transform((text, context): Readonly<Record<string, string>> => {
  const pairs = text.split(',').map((pair) => /^\s*([\w-]+)\s*=\s*([\x21-\x7e]*)\s*$/.exec(pair))
  try {
    return Object.fromEntries(pairs.map((pair) => [nameOf(pair), decodeURIComponent(pair?.[2] ?? '')]))
  } catch {
    context.addIssue('must be name=value pairs, separated by commas, with percent-encoded values')
    return z.NEVER
  }
})
const service = z
  .string()
  .regex(/^\P{Cc}{1,100}$/u, { error: 'must be 1 to 100 characters without control characters' })
const share = z
  .string()
  .refine((text) => text === 'off' || (/^\d(\.\d{1,9})?$/.test(text) && Number(text) <= 1), {
    error: 'must be a number from 0 to 1, or off',
  })
  .transform((text) => (text === 'off' ? null : Number(text)))

export const tracesVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: collectorUrl.nullable().default(null),
  OTEL_EXPORTER_OTLP_HEADERS: headers.default({}),
  OTEL_SERVICE_NAME: service.default('rollcall'),
  TRACE_REQUESTS: share.nullable().default(null),
}

type Given = z.infer<z.ZodObject<typeof tracesVariables>>

export function tracesConfig(v: Given): TracesConfig | null {
  if (v.OTEL_EXPORTER_OTLP_ENDPOINT === null) return null
  return {
    url: `${v.OTEL_EXPORTER_OTLP_ENDPOINT.replace(/\/+$/, '')}/v1/traces`,
    headers: v.OTEL_EXPORTER_OTLP_HEADERS,
    service: v.OTEL_SERVICE_NAME,
    requests: v.TRACE_REQUESTS,
  }
}

function nameOf(pair: RegExpExecArray | null): string {
  if (pair?.[1] === undefined) throw new Error('not a pair')
  return pair[1]
}
