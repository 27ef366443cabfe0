/** Secrets in files, as Kubernetes, Docker and systemd give them. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parseConfig, variables } from '../../src/server/config/config.ts'
import { secretVariables } from '../../src/server/config/secret-files.ts'
import { readPage } from '../support/documentation.ts'
import { temporaryFolder } from '../support/folder.ts'
import { refusalOf } from './refusal.ts'

const key = 'a-key-of-operators-hidden-1'

/** A mounted Secret of Kubernetes: each key is a link into a folder with the time of the last change. */
function mountSecret(secrets: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder()
  mkdirSync(join(folder, '..2026_11_28'))
  symlinkSync('..2026_11_28', join(folder, '..data'))
  for (const [name, secret] of Object.entries(secrets)) {
    writeFileSync(join(folder, '..2026_11_28', name), secret)
    symlinkSync(`..data/${name}`, join(folder, name))
  }
  return folder
}

it('are read from the files of a mounted Secret, without the line break at their end', () => {
  const folder = mountSecret({ key: `${key}\n`, url: 'postgres://rollcall:secret@db.example/rollcall' })
  const config = parseConfig({
    API_AUTH: 'key',
    API_ADMIN_KEY_FILE: join(folder, 'key'),
    DATABASE_URL_FILE: join(folder, 'url'),
    OIDC_CLIENT_SECRET_FILE: '',
  })
  expect(config.auth.api.adminKey).toBe(key)
  expect(config.store.url).toBe('postgres://rollcall:secret@db.example/rollcall')
})

it('are checked like those of the environment, and not quoted', () => {
  const folder = mountSecret({ short: 'short', url: 'mysql://root:hidden@db/x', key })
  const { problems, message } = refusalOf({
    API_AUTH: 'key',
    API_ADMIN_KEY_FILE: join(folder, 'short'),
    DATABASE_URL_FILE: join(folder, 'url'),
    MQTT_PASSWORD_FILE: join(folder, 'key'),
  })
  expect(problems.map((problem) => problem.split(' ')[0]).toSorted()).toEqual([
    'API_ADMIN_KEY',
    'DATABASE_URL',
    'MQTT_PASSWORD',
  ])
  expect(message).not.toMatch(/hidden/)
})

it('have a problem each where they cannot be used', () => {
  const folder = mountSecret({ empty: ' \n', huge: '', key })
  truncateSync(join(folder, 'huge'), 65_537)
  spawnSync('mkfifo', [join(folder, 'pipe')])
  const file = (name: string): string => join(folder, name)
  const { problems } = refusalOf({
    API_AUTH: 'key',
    DEVICE_AUTH: 'token',
    API_ADMIN_KEY: key,
    API_ADMIN_KEY_FILE: file('key'),
    DATABASE_URL_FILE: file('absent'),
    DEVICE_JWT_SECRET_FILE: file('empty'),
    AAI_PASSWORD_FILE: file('huge'),
    AWS_SECRET_ACCESS_KEY_FILE: folder,
    // Reading it would wait for a writer.
    OTEL_EXPORTER_OTLP_HEADERS_FILE: file('pipe'),
  })
  expect(problems).toEqual([
    'DATABASE_URL_FILE names a file that cannot be read (ENOENT)',
    'API_ADMIN_KEY and API_ADMIN_KEY_FILE are both set: remove one of them',
    'DEVICE_JWT_SECRET_FILE names an empty file',
    'AAI_PASSWORD_FILE names a file of more than 65536 bytes',
    'AWS_SECRET_ACCESS_KEY_FILE names no regular file',
    'OTEL_EXPORTER_OTLP_HEADERS_FILE names no regular file',
  ])
})

it('are all that have a name of a secret, and the page lists them', () => {
  const named = variables.filter((name) =>
    /SECRET$|PASSWORD|TOKEN|ADMIN_KEY|ACCESS_KEY|DATABASE.*URL|HEADERS/.test(name),
  )
  expect([...secretVariables].toSorted()).toEqual(named.toSorted())
  const [, list = ''] = /have this form: (.*?)\.\n/s.exec(readPage('docs/configuration.md')) ?? []
  expect([...list.matchAll(/`(\w+)`/g)].map(([, name]) => name)).toEqual(secretVariables)
})
