#!/usr/bin/env node
// @ts-check
/**
 * In place of systemd, on the machine of machine.ts: starts the units of deploy/systemd, with their environment, folder and user, and nginx. Of Prometheus it checks the
 * configuration. It knows what docs/production.md uses, and refuses everything else.
 */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, openSync, readFileSync } from 'node:fs'

const [, , command = '', ...units] = process.argv
const names = units.filter((unit) => unit !== '--now')
if (!['daemon-reload', 'enable', 'restart'].includes(command)) throw new Error(`systemctl ${command}`)
for (const name of names)
  if (name === 'nginx') execFileSync('nginx', ['-q'], { stdio: 'inherit' })
  else if (name === 'prometheus')
    execFileSync('promtool', ['check', 'config', '/etc/prometheus/prometheus.yml'], { stdio: 'inherit' })
  else start(name)

/** @param {string} name */
function start(name) {
  const [template = '', instance] = name.split('@')
  const file = `/etc/systemd/system/${template}${instance === undefined ? '' : '@'}.service`
  const unit = readFileSync(file, 'utf8').replaceAll('%i', instance ?? '')
  /** @param {string} key */
  const valuesOf = (key) => [...unit.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value = '']) => value)
  const files = valuesOf('EnvironmentFile').map((path) => readFileSync(path, 'utf8'))
  const settings = [...valuesOf('Environment'), ...files.flatMap((text) => text.split('\n'))].filter((line) =>
    /^\w+=/.test(line),
  )
  const env = Object.fromEntries(
    settings.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
  const [user = ''] = valuesOf('User')
  const [folder = '/'] = valuesOf('WorkingDirectory')
  const [start = ''] = valuesOf('ExecStart')
  if (!existsSync(start.split(' ')[0] ?? '')) throw new Error(`${file}: there is no ${start}`)
  const log = openSync(`/var/log/${name}.log`, 'a')
  const args = [
    `--reuid=${user}`,
    `--regid=${user}`,
    '--clear-groups',
    '--no-new-privs',
    '--inh-caps=-all',
    '--bounding-set=-all',
  ]
  const child = spawn('setpriv', [...args, ...start.split(' ')], {
    cwd: folder,
    env: { PATH: '/usr/bin:/bin', ...env },
    stdio: ['ignore', log, log],
    detached: true,
  })
  child.unref()
}
