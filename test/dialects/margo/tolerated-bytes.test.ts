/** Each tolerance of docs/wire.md §1.8, with the bytes that a device sends. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { margoReports } from '../../../src/ingest/dialects/margo/index.ts'
import { anyRoute } from './fixtures.ts'

const at = Date.UTC(2026, 6, 10, 6, 12, 3)
const failed = (error: string) => `{"deploymentId":"d","status":{"state":"failed","error":${error}},"components":[]}`
const marked = (rollcall: string) =>
  `{"deploymentId":"d","status":{"state":"failed"},"components":[],"rollcall":{${rollcall}}}`

const cases: readonly (readonly [tolerance: string, sent: string, kept: object, contentType?: string])[] = [
  ['a byte order mark', `\ufeff${failed('null')}`, { state: 'FAILED' }],
  ['`null` for a field that is not set', failed('null').replace('{', '{"deviceId":null,"kind":null,'), { error: null }],
  [
    'a list of one status',
    '{"deploymentId":"d","status":[{"state":"installed"}],"components":[]}',
    { state: 'INSTALLED' },
  ],
  ['a state in another letter case', failed('null').replace('failed', 'Failed'), { state: 'FAILED' }],
  ['a state of another draft or agent', failed('null').replace('failed', 'success'), { state: 'INSTALLED' }],
  ['an empty error', failed('{"code":"","message":""}'), { error: null }],
  ['a code that is a number', failed('{"code":507,"message":"m"}'), { error: { code: '507', message: 'm' } }],
  ['the key `message ` with a space', failed('{"code":"c","message ":"m"}'), { error: { code: 'c', message: 'm' } }],
  ['`Error` instead of `message`', failed('{"code":"c","Error":"m"}'), { error: { code: 'c', message: 'm' } }],
  [
    'a version as digits, with zeros before them',
    failed('null').replace('{', '{"adoptedManifestVersion":"0018446744073709551615",'),
    { adoptedManifestVersion: '18446744073709551615' },
  ],
  [
    '`targetName` instead of `deviceId`',
    failed('null').replace('{', '{"targetName":"gw/pump",'),
    { deviceId: 'gw/pump' },
  ],
  ['a boot that is a number', marked('"boot":7,"seq":"12"'), { boot: '7', seq: '12' }],
  [
    'a stage with a hyphen, in any letter case',
    marked('"failureStage":"post-processing"'),
    { failureStage: 'POST_PROCESSING' },
  ],
  [
    'a time with a space, decimals and no offset',
    marked('"observedAt":"2026-07-10 06:12:03.000000001"'),
    { observedAt: at },
  ],
  [
    'the components inside the status, and the id and time in the metadata (2024-06)',
    '{"metadata":{"deploymentId":"d","timeStamp":"2026-07-10 06:12:03"},"status":{"state":"installed","components":[{"name":"a","state":"installed"}]}}',
    { observedAt: at, components: [{ name: 'a', state: 'INSTALLED', error: null }] },
  ],
  [
    'one word of status, and `uniqueID` (2024-05)',
    '{"kind":"Margo Deployment Status","metadata":{"uniqueID":"d"},"deploymentInformation":{"status":"Installing"}}',
    { state: 'INSTALLING', deploymentId: 'd' },
  ],
  [
    'YAML',
    'deploymentId: d\nstatus:\n  state: installed\ncomponents: []\n',
    { state: 'INSTALLED' },
    'text/yaml; charset=utf-8',
  ],
]

describe('a report is accepted with', () => {
  for (const [tolerance, sent, kept, contentType = 'application/json'] of cases)
    it(tolerance, async () => {
      const report = await margoReports.read(Buffer.from(sent), contentType, anyRoute)
      expect(report).toMatchObject({ deploymentId: 'd', ...kept })
      expect(report.warnings).toBeUndefined()
    })

  it('each tolerance that the documentation lists', () => {
    const [, section = ''] = readFileSync(new URL('../../../docs/wire.md', import.meta.url), 'utf8').split('### 1.8')
    const listed = [...(section.split('\n## ')[0] ?? '').matchAll(/^- (.+)$/gm)].map(([, line = '']) => line)
    expect(listed.toSorted()).toEqual(cases.map(([tolerance]) => tolerance).toSorted())
  })
})
