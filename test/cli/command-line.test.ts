import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseCommandLine } from '../../src/apps/cli/command-line.ts'
import { rollcall, useServer } from './harness.ts'

useServer()

describe('the command line of rollcall', () => {
  it.each([
    [[], /^missing command/],
    [
      ['dance'],
      /^unknown command `dance`: use watch, get, counts, alerts, wait, export, maintenance, retire, reinstate, login/,
    ],
    [['gt'], /^unknown command `gt`: did you mean `get`\?/],
    [['get', 'devcies'], /^unknown object `devcies`: did you mean `devices`\?/],
    [['get', 'device'], /^missing device/],
    [['completion', 'tcsh'], /^completion needs the shell/],
    [['get'], /^missing object/],
    [['get', 'deployment'], /^missing deployment/],
    [['get', 'deployments', 'x'], /for one, use get deployment x/],
    [['watch', 'x'], /^unexpected argument: x/],
    [['watch', '--after', 'x'], /^--after must be a cursor/],
    [['wait', '--for=ready', '--rollout', 'x'], /^--for must be one of pending, installing/],
    [['wait', '--for=installed'], /^missing selection/],
    [['wait', '--rollout', 'x'], /^wait needs --for: a state, such as --for=installed/],
    [['wait', '--for=installed', '--rollout', 'x', '--timeout', 'soon'], /^--timeout must be a duration/],
    [['counts', '--label', 'site'], /^--label must be <key>=<value>/],
    [['counts', '--url', 'here'], /^the server's address must be a URL/],
    ...['http://localhost.:4000', 'http://here/?a', 'http://here#a'].map((url): [string[], RegExp] => [
      ['counts', '--url', url],
      /without a query or a dot at the end of the host/,
    ]),
    [['counts', '--url', 'http://ada:secret@here'], /^the server's address must not contain a user or a password/],
    [
      ['counts', '--token', 'two\nlines'],
      /^the token must not contain spaces, line breaks or characters beyond ASCII$/,
    ],
    [['counts', '--colour'], /^unknown option --colour$/],
    [['counts', '--stat=failed'], /^unknown option --stat: did you mean --state\?$/],
    [['counts', '--state'], /^Option '--state <value>' argument missing/],
    [['get', 'devices', '--state', 'failed'], /^get devices does not use --state: use --label, --selector, --limit$/],
    [['get', 'resources', '--rollout', 'x'], /^get resources does not use --rollout/],
    [['get', 'rollouts', '--device', 'x'], /^get rollouts does not use --device/],
    [['get', 'clusters', '-l', 'site=munich'], /^get clusters does not use --selector: use --limit$/],
    [
      ['get', 'deployment', 'x', '--state', 'failed'],
      /^get deployment does not use --state: use --deployment, --device$/,
    ],
    [['alerts', '--rollout', 'x'], /^alerts does not use --rollout: use --all, --limit$/],
    [['counts', '--limit', '5'], /^counts does not use --limit/],
    [['wait', '--for=installed', '--rollout', 'x', '--after', '5'], /^wait does not use --after/],
    [['login', '--rollout', 'x'], /^login does not use --rollout$/],
  ])('explains what is wrong with %j', (args, message) => {
    expect(() => parseCommandLine(args, {})).toThrow(message)
  })

  it('exits with 64 on a wrong command line, and shows its help', async () => {
    const wrong = rollcall('dance')
    expect(await wrong.ended).toBe(64)
    const help = rollcall('--help')
    expect(await help.ended).toBe(0)
    expect(help.lines[0]).toMatch(/^Usage: /)
  })

  it('says its version', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
    for (const asked of ['--version', 'version']) {
      const child = rollcall(asked)
      expect(await child.ended).toBe(0)
      expect(child.lines).toEqual([version])
    }
  })

  it('takes address and token from the environment', () => {
    const { connection } = parseCommandLine(['counts'], {
      ROLLCALL_URL: 'https://rollcall.example',
      ROLLCALL_TOKEN: 'secret\n',
    })
    expect(connection).toEqual({ url: 'https://rollcall.example', token: 'secret', isJson: false })
    expect(parseCommandLine(['counts'], { ROLLCALL_TOKEN: '\n' }).connection.token).toBeUndefined()
  })
})
