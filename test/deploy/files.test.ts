/** What deploy/ lets each container do, and what is in the image: read from the files as they are shipped. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { readPage, root } from '../support/documentation.ts'

interface Service {
  readonly image: string
  readonly build?: { readonly args: Readonly<Record<string, string>> }
  readonly user?: string
  readonly read_only?: boolean
  readonly privileged?: boolean
  readonly cap_add?: readonly string[]
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly tmpfs?: readonly string[]
  readonly volumes?: readonly string[]
}

const compose = parse(readPage('deploy/compose.yaml'), { merge: true })
const overlay = parse(readPage('deploy/compose.tls.yaml'), { merge: true, customTags: ['!override'].map(overriding) })
const standby = parse(readPage('deploy/compose.standby.yaml'), { merge: true })
const monitoring = parse(readPage('deploy/compose.monitoring.yaml'), { merge: true })
const services: [string, Service][] = [
  ...Object.entries<Service>(compose.services),
  ...Object.entries<Service>(monitoring.services),
  ['standby', standby.services.standby],
]
const dockerfile = readPage('deploy/Dockerfile')
const operating = readPage('docs/operating.md')

/** Compose's own: a list instead of the one before. */
function overriding(tag: string) {
  return { tag, collection: 'seq' as const, resolve: (value: unknown) => value }
}

/** `repository:tag`, or with `@sha256:…`. */
const image = /^[a-z/]+:[\w.-]+(@sha256:[0-9a-f]{64})?$/

describe('the containers of deploy/', () => {
  it.each(services)('confine %s', (_, service) => {
    const { user, read_only, privileged, cap_add, cap_drop, security_opt } = service
    expect({ read_only, privileged, cap_add, cap_drop, security_opt }).toEqual({
      read_only: true,
      privileged: undefined,
      cap_add: undefined,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    })
    // By number: a name would be looked up in the image, which may give it any.
    expect(user).toMatch(/^[1-9]\d*:[1-9]\d*$/)
    expect(service.volumes?.some((volume) => volume.includes('docker.sock')) ?? false).toBe(false)
  })

  it('mount only files that there are', () => {
    const mounted = services.flatMap(([, { volumes = [] }]) => volumes).map((volume) => volume.split(':')[0] ?? '')
    mounted.push(...standby.services.postgres.volumes.map((volume: string) => volume.split(':')[0]))
    const files = mounted.filter((name) => name.startsWith('./'))
    expect(files.length).toBeGreaterThan(4)
    expect(files.filter((name) => !existsSync(join(root, 'deploy', name)))).toEqual([])
    const volumes = Object.keys({ ...compose.volumes, ...monitoring.volumes, ...standby.volumes })
    expect(mounted.filter((name) => !name.startsWith('./')).toSorted()).toEqual(volumes.toSorted())
  })

  it('trust the headers of the balancer and of no other container', () => {
    const files = readdirSync(join(root, 'deploy'), { recursive: true, encoding: 'utf8' })
    const texts = files
      .filter((name) => /\.(ya?ml|conf|sh)$|Dockerfile$/.test(name))
      .map((name) => readPage(`deploy/${name}`))
    const trusted = texts.flatMap((text) =>
      [...text.matchAll(/^\s*TRUSTED_PROXIES[:=]\s*(.*)$/gm)].map(([, value]) => value),
    )
    const address = compose.services.balancer.networks.default.ipv4_address
    expect(trusted).toEqual([address])
    const addressed = services.filter(([, service]) => 'networks' in service).map(([name]) => name)
    expect(addressed).toEqual(['balancer'])
    // Docker chooses the other addresses in the second half of the range.
    const [{ subnet, ip_range: others }] = compose.networks.default.ipam.config
    const plain = (text: string): string => text.replace(/\$\{NETWORK:-([\d.]+)\}/, '$1')
    expect([address, subnet, others].map(plain)).toEqual(['172.30.0.2', '172.30.0.0/24', '172.30.0.128/25'])
  })

  it('are no less confined with https', () => {
    expect(Object.keys(overlay.services).filter((name) => !(name in compose.services))).toEqual([])
    const set = Object.values<object>(overlay.services).flatMap((service) => Object.keys(service))
    expect(new Set(set)).toEqual(new Set(['environment', 'ports', 'volumes']))
    const mounted: string[] = overlay.services.balancer.volumes
    const named = [...readPage('deploy/nginx-tls.conf').matchAll(/ (\/etc\/nginx\/tls\/[\w.-]+);$/gm)]
    const targets = mounted.map((volume) => volume.split(':').at(-2))
    for (const [, path] of named) expect(targets).toContain(path)
    expect(mounted.every((volume) => volume.endsWith(':ro'))).toBe(true)
    const variables = [...readPage('README.md').matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name)
    for (const name of Object.keys(overlay['x-tls'].environment)) expect(variables).toContain(name)
  })

  it('have a standby that both servers read', () => {
    const { postgres, standby: added, ...servers } = standby.services
    expect(Object.keys(postgres).toSorted()).toEqual(['command', 'volumes'])
    expect(Object.keys(servers)).toEqual(Object.keys(compose.services).filter((name) => name.startsWith('rollcall')))
    for (const server of Object.values(servers)) expect(server).toEqual(standby['x-reading'])
    expect(standby['x-reading'].environment.DATABASE_READ_URL).toContain('@standby:5432/rollcall')
    expect(added.environment.PRIMARY_URL).toContain('@postgres:5432/rollcall')
    expect(added.command).toContain(added.environment.STANDBY_DATA)
    // When it has taken the place of the primary, all that write or dump follow.
    for (const { environment } of [compose['x-rollcall'], compose.services.backup])
      expect(environment.DATABASE_URL).toMatch(/@\$\{DATABASE_HOST:-postgres\}:5432\/rollcall$/)
    expect(readPage('docs/standbys.md')).toContain('echo DATABASE_HOST=standby >> deploy/.env')
  })

  it('give Grafana its dashboard, and the Prometheus beside it', () => {
    const mounted = new Map(
      monitoring.services.grafana.volumes.map((volume: string) => volume.split(':').slice(0, 2) as [string, string]),
    )
    const [source, ...others] = parse(readPage('deploy/monitoring/grafana-datasource.yml')).datasources
    expect(others).toEqual([])
    expect(source).toMatchObject({ type: 'prometheus', isDefault: true })
    expect(Object.keys(monitoring.services)).toContain(new URL(source.url).hostname)
    const [provider] = parse(readPage('deploy/monitoring/grafana-dashboards.yml')).providers
    expect(mounted.get('./monitoring/grafana-dashboard.json')).toMatch(new RegExp(`^${provider.options.path}/`))
    for (const kind of ['datasource', 'dashboards'])
      expect(mounted.get(`./monitoring/grafana-${kind}.yml`)).toMatch(
        new RegExp(`^/etc/grafana/provisioning/${kind.replace(/s?$/, 's')}/`),
      )
  })

  it('are made of files that a test loads', () => {
    const names = readdirSync(join(root, 'deploy'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      // kubernetes.test.ts and helm.test.ts render whole folders.
      .filter(({ parentPath }) => !/deploy.(kubernetes|helm)/.test(parentPath))
      .map(({ name }) => name)
    const tests = ['test/deploy', 'test/docs', 'test/support']
      .flatMap((folder) => readdirSync(join(root, folder), { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'))
    expect(names.length).toBeGreaterThan(15)
    expect(names.filter((name) => !tests.some((text) => text.includes(basename(name))))).toEqual([])
  })

  it('run images that can be pinned by their digest, and the way to learn it is said', () => {
    const [, ofNode = ''] = /^ARG NODE_IMAGE=(\S+)$/m.exec(dockerfile) ?? []
    expect(ofNode).toMatch(image)
    const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base)
    expect(new Set(bases)).toEqual(new Set([`$\{NODE_IMAGE}`]))
    const named = services.flatMap(([, service]) => service.build?.args.NODE_IMAGE ?? service.image)
    for (const text of named) {
      const [, variable = '', standard = ''] = /^\$\{([A-Z]+_IMAGE):-(.+)\}$/.exec(text) ?? []
      expect([text, image.test(standard)]).toEqual([text, true])
      if (variable === 'NODE_IMAGE') expect(standard).toBe(ofNode)
      expect(operating).toContain(variable)
    }
    expect(operating).toContain('docker buildx imagetools inspect')
  })

  it('is built without scripts of packages', () => {
    const installs = [...dockerfile.matchAll(/npm (?:ci|install|rebuild)[^&\n]*/g)].map(([command]) => command)
    expect(installs.length).toBeGreaterThan(0)
    expect(installs.filter((command) => !command.includes('--ignore-scripts'))).toEqual([])
  })

  it('have no root in the image of the server', () => {
    const users = [...dockerfile.matchAll(/^USER (.+)$/gm)].map(([, user]) => user)
    expect(users).toEqual(['1000:1000'])
    const { user } = compose.services['rollcall-1']
    expect(user).toBe(users[0])
    // Nothing but what is started comes after it.
    expect(dockerfile.slice(dockerfile.indexOf('\nUSER '))).not.toMatch(/^(RUN|COPY|ADD) /m)
  })
})

it('a server starts with the same options of Node by npm start, in the container, as a service and as one file', () => {
  const { start } = JSON.parse(readPage('package.json')).scripts as { readonly start: string }
  const options = start.split(' ').filter((part) => part.startsWith('--'))
  expect(options).toEqual(['--v8-pool-size=1', '--max-semi-space-size=8'])
  expect(readPage('deploy/Dockerfile')).toContain(
    JSON.stringify(['node', ...options, 'dist/bin.js', 'serve']).replaceAll(',', ', '),
  )
  for (const file of ['docs/operating.md', 'deploy/systemd/rollcall@.service']) {
    expect(readPage(file)).toContain(`/node ${options.join(' ')} src/main.ts`)
    expect(readPage(file)).toContain('Environment=MALLOC_TRIM_THRESHOLD_=131072\n')
  }
  expect(readPage('deploy/Dockerfile')).toContain('ENV MALLOC_TRIM_THRESHOLD_=131072\n')
  expect(readPage('docs/operating.md')).toContain(`NODE_OPTIONS="${options.join(' ')}"`)
  const list = options.map((option) => `'${option}'`).join(', ')
  expect(readPage('src/server/build/build-executable.ts')).toContain(`execArgv: [${list}],`)
})

interface Component {
  readonly name: string
  readonly version: string
  readonly purl: string
  readonly licenses?: readonly ({ readonly license: { readonly id?: string } } | { readonly expression: string })[]
  readonly properties?: readonly { readonly name: string; readonly value: string }[]
}

describe('the bill of materials (npm run sbom)', () => {
  const { scripts, dependencies } = JSON.parse(readPage('package.json'))
  const [program = '', ...args] = scripts.sbom.split(' ')
  const printed = execFileSync(program, args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  const components: Component[] = JSON.parse(printed).components
  const isOfTools = ({ properties = [] }: Component): boolean =>
    properties.some(({ name, value }) => name === 'cdx:npm:package:development' && value === 'true')
  const licencesOf = ({ licenses = [] }: Component): string =>
    licenses.map((one) => ('license' in one ? one.license.id : one.expression)).join(' AND ')

  it('has every package of the lockfile', () => {
    const { packages } = JSON.parse(readFileSync(`${root}/package-lock.json`, 'utf8'))
    const locked = Object.entries<{ readonly name?: string; readonly version: string }>(packages)
      .filter(([path]) => path !== '')
      .map(([path, { name, version }]) => `${name ?? path.split('node_modules/').at(-1)}@${version}`)
    const listed = new Set(components.map(({ name, version }) => `${name}@${version}`))
    expect(locked.filter((one) => !listed.has(one))).toEqual([])
    const shipped = new Set(components.filter((one) => !isOfTools(one)).map(({ name }) => name))
    expect(Object.keys(dependencies).filter((name) => !shipped.has(name))).toEqual([])
  })

  it('has licences only that may be used and passed on with this one', () => {
    const permissive = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT', 'PSF-2.0', 'Unlicense']
    // Weak copyleft binds who changes such a file and passes it on: tools of developers are not passed on.
    const forTools = [
      ...permissive,
      'BlueOak-1.0.0',
      'CC0-1.0',
      'MPL-2.0',
      'Python-2.0',
      'MIT OR Apache-2.0',
      '(MIT OR CC0-1.0)',
    ]
    const foreign = components.filter((one) => !(isOfTools(one) ? forTools : permissive).includes(licencesOf(one)))
    expect(foreign.map((one) => `${one.name}@${one.version}: ${licencesOf(one) || 'none'}`)).toEqual([])
  })
})
