/** PostGraphile 5 with its usual preset; smart tags tell it the relations, as our tables have no foreign keys. */
import { createServer } from 'node:http'
import { postgraphile } from 'postgraphile'
import { makePgService } from 'postgraphile/adaptors/pg'
import { grafserv } from 'postgraphile/grafserv/node'
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber'
import postgres from 'postgres'
import { listen } from '../harness/listen.ts'

const url = process.env.DATABASE_URL ?? ''
const sql = postgres(url, { max: 1 })
await sql.unsafe(
  `comment on table deployments is E'@foreignKey (rollout_key) references rollouts (key)\\n@unique reporter,deployment_id'`,
)
await sql.unsafe(`comment on table change_log is E'@foreignKey (deployment_key) references deployments (key)'`)
await sql.unsafe(`comment on table rollouts is E'@unique kind,identity'`)
await sql.end()

const instance = postgraphile({
  extends: [PostGraphileAmberPreset],
  // It takes our partial indexes for none.
  disablePlugins: ['PgIndexBehaviorsPlugin'],
  pgServices: [makePgService({ connectionString: url, schemas: ['public'], poolConfig: { max: 8 } })],
  grafserv: { watch: false, graphiql: false },
})
const server = createServer()
const serv = instance.createServ(grafserv)
await serv.addTo(server)
listen(server)
