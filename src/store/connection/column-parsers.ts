/** Conversions between values of JavaScript and SQL. Both drivers share them, so that a test on one driver covers the other. */
import { isStorable, storable } from '../../domain/text.ts'

const oid = {
  bool: 16,
  int8: 20,
  int2: 21,
  int4: 23,
  text: 25,
  oid: 26,
  json: 114,
  float4: 700,
  float8: 701,
  timestamptz: 1184,
  numeric: 1700,
  jsonb: 3802,
}

export const parsers: Readonly<Record<number, (text: string) => unknown>> = {
  [oid.bool]: (text) => text === 't' || text === 'true',
  // Keys, counts and revisions: all of them stay below 2^53.
  [oid.int8]: Number,
  [oid.int2]: Number,
  [oid.int4]: Number,
  [oid.oid]: Number,
  [oid.float4]: Number,
  [oid.float8]: Number,
  [oid.json]: JSON.parse,
  [oid.jsonb]: JSON.parse,
  [oid.numeric]: (text) => text,
  [oid.text]: (text) => text,
  [oid.timestamptz]: parseInstant,
}

/** The types of values that may be long. */
export const textTypes: readonly number[] = [oid.text, oid.json, oid.jsonb]

/** `2026-01-02 03:04:05.678+00` (sessions run in UTC) → milliseconds. */
function parseInstant(text: string): number {
  return Date.parse(`${text.replace(' ', 'T')}:00`)
}

/** Every text parameter passes here last. JSON was cleaned earlier, when it was serialized (storableJson). */
export function storableParameters(parameters: readonly unknown[]): readonly unknown[] {
  if (parameters.every((value) => typeof value !== 'string' || isStorable(value))) return parameters
  return parameters.map((value) => (typeof value === 'string' ? storable(value) : value))
}
