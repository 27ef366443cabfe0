/** The largest hostile bodies that each route takes, made to cost as much as they can. */
import { asked, bundle, group, gvk, instance, type LargeBody, listed, mib } from './large-body.ts'

const integer = '1234567890123456789'

/** As many of `unit` as fit. */
function filled(size: number, unit: string, head = '[', tail = ']'): string {
  const count = Math.floor((size - head.length - tail.length) / (unit.length + 1))
  return `${head}${Array<string>(count).fill(unit).join(',')}${tail}`
}

export const hostileBodies: readonly LargeBody[] = [
  {
    title: 'numbers, one of them long',
    line: 'POST /reports',
    body: () => filled(32 * mib, '0', `[${integer},`),
    status: 413,
  },
  {
    title: 'items of nothing, and a long number',
    line: 'POST /reports',
    body: () => filled(32 * mib, '{}', `{"a":${integer},"reports":[`, ']}'),
    status: 413,
  },
  { title: 'one item of lists', line: 'POST /reports', body: () => `[${filled(32 * mib - 2, '[]')}]`, status: 413 },
  { title: 'brackets', line: 'POST /reports', body: () => '['.repeat(32 * mib), status: 400 },
  { title: 'a number without end', line: 'POST /reports', body: () => `[${'1'.repeat(31 * mib)}]`, status: 200 },
  {
    title: 'empty lines',
    line: 'POST /reports',
    body: () => '\n'.repeat(32 * mib),
    type: 'application/x-ndjson',
    status: 200,
  },
  {
    title: 'a line of nothing',
    line: 'POST /reports',
    body: () => filled(32 * mib, '{}'),
    type: 'application/x-ndjson',
    status: 200,
  },
  {
    title: 'reports that are nothing',
    line: 'POST /reports',
    body: () => `[${Array.from({ length: 10_000 }, () => `{"x":${'[0,0,0,0,0,0,0]'.padEnd(3_300)}}`).join(',')}]`,
    status: 200,
  },
  {
    title: 'words of YAML',
    line: 'POST /device/edge-1/deployment/d/status',
    body: () => `deploymentId: d\nx: [${'a,'.repeat(24_000)}]\n`,
    type: 'application/yaml',
    status: 400,
  },
  {
    title: 'aliases of YAML',
    line: 'POST /device/edge-1/deployment/d/status',
    body: () =>
      `a: &a [x,x,x,x,x,x,x,x,x,x]\n${Array.from({ length: 9 }, (_, n) => `b${n}: [${'*a,'.repeat(1_500)}]`).join('\n')}\n`,
    type: 'application/yaml',
    status: 400,
  },
  {
    title: 'levels of YAML',
    line: 'POST /device/edge-1/deployment/d/status',
    body: () => '['.repeat(60_000),
    type: 'application/yaml',
    status: 400,
  },
  {
    title: 'brackets in one report',
    line: 'POST /device/edge-1/deployment/d/status',
    body: () => `{"components":${'['.repeat(500_000)}${']'.repeat(500_000)}}`,
    status: 400,
  },
  {
    title: 'values in one report',
    line: 'POST /device/edge-1/deployment/d/status',
    body: () => filled(mib, '{}', '{"components":[', ']}'),
    status: 413,
  },
  {
    title: 'resources of nothing',
    line: `POST ${group}/instances/c/resources`,
    body: () => filled(16 * mib, '{}', '{"resources":[', ']}'),
    status: 413,
  },
  {
    title: 'pods of nothing',
    line: `PUT ${group}/resource-bundle-states/p+c`,
    body: () => filled(4 * mib, '{}', bundle, ']}}'),
    status: 413,
  },
  {
    title: 'objects in base64',
    line: `PUT ${group}/resource-bundle-states/p+c`,
    body: () => {
      const res = Buffer.from(`{"metadata":{"name":"n"},"x":[${'{},'.repeat(450_000)}{}]}`).toString('base64')
      const entry = JSON.stringify({ group: 'x', version: 'v1', kind: 'K', res })
      return filled(4 * mib, entry, bundle.replace('podStatuses', 'resourceStatuses'), ']}}')
    },
    status: 200,
  },
  {
    title: 'a status of nothing',
    line: 'PUT /v1/instance/i/status',
    body: () => filled(8 * mib, '{}', '{"resourcesStatus":[', ']}'),
    status: 413,
  },
  {
    title: 'a status of objects that are wide',
    line: 'PUT /v1/instance/i/status',
    body: () => {
      const wide = `{"name":"n","GVK":{"Kind":"K"},"status":{"x":[${'1234567,'.repeat(240_000)}0]}}`
      return filled(8 * mib, wide, '{"resourcesStatus":[', ']}')
    },
    status: 200,
  },
  {
    title: 'an instance with a large override',
    line: 'PUT /v1/instance/i',
    body: () => `${JSON.stringify(instance).slice(0, -1)},"resources":[],"x":[${'1234567,'.repeat(250_000)}0]}`,
    status: 200,
  },
  {
    title: 'objects with one name',
    line: 'PUT /v1/instance/i/status',
    body: () =>
      listed(
        8 * mib,
        5_000,
        (n) => ({ name: 'one', GVK: gvk, status: { metadata: { namespace: `ns-${n}` } } }),
        '{"resourcesStatus":[',
        ']}',
      ),
    status: 200,
  },
  {
    title: 'variables of nothing',
    line: 'POST /graphql',
    body: () => filled(16 * mib - 1_000, '{}', '{"query":"{__typename}","variables":{"a":[', ']}}'),
    status: 413,
  },
  {
    title: 'variables of numbers',
    line: 'POST /graphql',
    body: () => `{"query":"{__typename}","extensions":{"x":[${'1234567,'.repeat(2_000_000)}0]}}`,
    status: 200,
  },
  {
    title: 'a document of braces',
    line: 'POST /graphql',
    body: () => '{a '.repeat(5_000_000),
    type: 'application/graphql',
    status: 413,
  },
  {
    title: 'a document of a comment',
    line: 'POST /graphql',
    body: () => `#${'x'.repeat(16_000_000)}\n{ __typename }`,
    type: 'application/graphql',
    status: 413,
  },
  {
    title: 'documents of YAML words',
    line: 'POST /graphql',
    body: () =>
      asked({
        deployments: Array.from({ length: 16 }, (_, n) => ({
          ...{ deviceId: 'edge-1', deploymentId: `d-${n}`, document: `x${n}: [${'a,'.repeat(49_000)}]` },
        })),
      }),
    status: 200,
  },
]
