/** docs/production.md is executed as root on a machine of its own, with the files of deploy/systemd: rollcall@.service, rollcall-backup.service, rollcall.env. */
import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { blocksOf, hasCurl, readPage } from '../support/documentation.ts'
import { hasMachines, runOnMachine } from '../support/servers/machine.ts'
import { findNginx } from '../support/systems/nginx.ts'
import { hasProgram } from '../support/systems/prometheus.ts'

const page = readPage('docs/production.md')
const hasOpenssl = spawnSync('openssl', ['version']).status === 0
const commands = blocksOf(page)
  .filter(({ language }) => language === 'sh')
  .map(({ text }) => text)
  .join('')

/** An issuer that has no more than its metadata. */
const issuer = 'http://127.0.0.1:5556'
const metadata = JSON.stringify({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/jwks`,
  response_types_supported: ['code'],
})
const startIssuer = `node -e 'require("node:http").createServer((_, r) => r.setHeader("content-type", "application/json").end(process.argv[1])).listen(5556, "127.0.0.1")' '${metadata}' &\n`

/** What an operator has now. Each line that is printed begins with its name. */
const questions = `
ask() { curl --silent --fail --cacert /etc/nginx/tls/server.pem "$@"; }
for port in 4001 4002; do
  echo "ready $port $(curl -s http://127.0.0.1:$port/readyz)"
  echo "scraped $port $(curl -s -H "Authorization: Bearer $(cat /etc/prometheus/rollcall.key)" http://127.0.0.1:$port/metrics | grep -c '^rollcall_build_info')"
done
echo "sign-in $(ask -o /dev/null -w '%{redirect_url}' "https://$NAME/session/oidc/login?returnTo=/")"
echo "open $(curl -s -o /dev/null -w '%{http_code}' --cacert /etc/nginx/tls/server.pem "https://$NAME/graphql?query=%7Brevision%7D")"
until ls /var/backups/rollcall/*.dump >/dev/null 2>&1; do sleep 0.2; done
echo "dump $(pg_restore --list /var/backups/rollcall/*.dump | grep -c 'TABLE DATA public change_log')"
echo "secret $(stat -c '%a %U' /etc/rollcall /etc/prometheus/rollcall.key /etc/nginx/tls/server.key | tr '\\n' ' ')"
`

// It needs root, namespaces, and the programs of the page; .ci/run has them.
it.skipIf(!hasMachines || !hasCurl || !findNginx() || !hasProgram('promtool') || !hasOpenssl)(
  'the page leads from nothing to two servers with TLS, sign-in, alerts and backups',
  async () => {
    const given = commands.replace('ISSUER=https://id.example', `ISSUER=${issuer}`)
    expect(given).not.toBe(commands)
    const said = await runOnMachine(startIssuer + given + questions)
    const printed = (name: string): string => new RegExp(`^${name} (.*)$`, 'm').exec(said)?.[1] ?? `nothing: ${said}`
    for (const port of [4001, 4002]) {
      expect(printed(`ready ${port}`)).toBe('{"status":"ready"}')
      expect(printed(`scraped ${port}`)).toBe('1')
    }
    const login = new URL(printed('sign-in'))
    expect([login.origin + login.pathname, login.searchParams.get('redirect_uri')]).toEqual([
      `${issuer}/authorize`,
      'https://rollcall.example/session/oidc/callback',
    ])
    expect(printed('open')).toBe('401')
    expect(Number(printed('dump'))).toBeGreaterThan(0)
    expect(printed('secret').trim()).toBe('700 root 400 prometheus 600 root')
    // Prometheus found its rules.
    expect(said).toMatch(/SUCCESS: 2 rule files found/)
  },
)

it('the page has at most 30 lines of commands, and the README leads to it', () => {
  expect(commands.trim().split('\n').length).toBeLessThanOrEqual(30)
  expect(readPage('README.md')).toContain('(docs/production.md)')
})
