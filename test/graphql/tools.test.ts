/** The tools that clients generate code with accept schema.graphql, and documents for it. Their types are those of the answers. */
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { minifyIntrospection, outputIntrospectionFile } from '@gql.tada/internal'
import { buildSchema, introspectionFromSchema } from 'graphql'
import { expect, it } from 'vitest'
import { readPage, root } from '../support/documentation.ts'
import { temporaryFolder } from '../support/folder.ts'

const run = promisify(execFile)
const sdl = readPage('schema.graphql')
const scalars = { DateTime: 'string', JSON: 'unknown', Revision: 'string' }

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}

/** A filter by every kind of input, an interface, a union, a connection and an enum. */
const listed = `query Listed($filter: DeploymentFilter, $after: String, $asOf: DateTime) {
  revision
  deployments(filter: $filter, first: 2, after: $after, asOf: $asOf) {
    edges { cursor node { id deploymentId state reportedAt target { __typename name ... on Device { deviceId } } } }
    pageInfo { hasNextPage endCursor }
  }
}`
/** An input object of which exactly one field is given. */
const found = `query Found($by: RolloutBy!) { rollout(by: $by) { id name } }`
const forgot = `mutation Forgot($input: ForgetDeploymentsInput!) {
  forgetDeployments(input: $input) { __typename ... on UserError { message } ... on ForgetDeploymentsSuccess { revision } }
}`
const followed = `subscription Followed($after: Revision) {
  changes(after: $after) { cursor change { __typename ... on DeploymentStateChanged { from to } } }
}`

/** What the command line of GraphQL Code Generator does. That package would bring many more. */
const generate = `
  import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
  import { preset } from '@graphql-codegen/client-preset'
  import { codegen } from '@graphql-codegen/core'
  import { parse } from 'graphql'
  const schema = parse(readFileSync('schema.graphql', 'utf8'))
  const documents = ${JSON.stringify([listed, found, forgot, followed])}.map((rawSDL, n) => (
    { location: 'd' + n + '.graphql', document: parse(rawSDL), rawSDL }))
  const config = { scalars: ${JSON.stringify(scalars)}, strictScalars: true, useTypeImports: true }
  const options = { schema, documents, config, baseOutputDir: 'gql/', plugins: [], pluginMap: {}, presetConfig: {} }
  mkdirSync('gql')
  for (const section of await preset.buildGeneratesSection(options)) writeFileSync(section.filename, await codegen(section))
`

it('relay-compiler compiles a refetchable page, a mutation and a subscription', async () => {
  const folder = temporaryFolder()
  const tagged = (...documents: string[]): string =>
    `import { graphql } from 'relay-runtime'\n${documents.map((text, n) => `export const d${n} = graphql\`${text}\``).join('\n')}\n`
  write(folder, {
    'schema.graphql': sdl,
    'relay.config.json': JSON.stringify({
      ...{ src: './src', schema: './schema.graphql', language: 'typescript' },
      ...{ eagerEsModules: true, customScalarTypes: scalars },
    }),
    'src/Devices.ts': tagged(
      `fragment Devices_rollout on Rollout @refetchable(queryName: "DevicesPageQuery")
        @argumentDefinitions(first: { type: "Int", defaultValue: 20 }, after: { type: "String" }) {
        name
        deployments(first: $first, after: $after) @connection(key: "Devices_deployments") {
          edges { node { id state ...Devices_deployment } }
        }
      }`,
      'fragment Devices_deployment on Deployment { deploymentId device { deviceId } error { code } }',
      'query DevicesQuery($id: ID!) { node(id: $id) { ...Devices_rollout @alias } }',
      found.replace('Found', 'DevicesFoundQuery'),
      forgot.replace('Forgot', 'DevicesForgetMutation'),
      followed.replace('Followed', 'DevicesSubscription'),
    ),
  })
  const { stdout, stderr } = await run(
    process.execPath,
    [join(root, 'node_modules/relay-compiler/cli.js'), 'relay.config.json'],
    { cwd: folder },
  )
  expect(`${stdout}${stderr}`).toMatch(/compiled documents: 7 reader, 5 normalization/)
  const made = readdirSync(join(folder, 'src/__generated__'))
  expect(made).toContain('DevicesPageQuery.graphql.ts')
})

it('GraphQL Code Generator and gql.tada give documents the types of their answers', async () => {
  const folder = temporaryFolder()
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  write(folder, { 'generate.mjs': generate, 'schema.graphql': sdl })
  await run(process.execPath, ['generate.mjs'], { cwd: folder })
  const introspection = introspectionFromSchema(buildSchema(sdl), { descriptions: false })
  const use = (documents: string): string => `${documents}
    const answer = {} as NonNullable<Answer>
    const node = answer.deployments.edges[0]?.node
    const state: 'PENDING' | 'INSTALLING' | 'INSTALLED' | 'FAILED' | 'REMOVING' | 'REMOVED' | undefined = node?.state
    const reportedAt: string | null | undefined = node?.reportedAt
    const id: string = answer.revision
    // @ts-expect-error The list is never null.
    const none: null = answer.deployments
    export const variables: Variables = { filter: { where: { not: { states: ['FAILED'] } } } }
    // @ts-expect-error There is no such state.
    export const wrong: Variables = { filter: { states: ['BROKEN'] } }
    export default [state, reportedAt, id, none]\n`
  write(folder, {
    'tsconfig.json': JSON.stringify({
      compilerOptions: {
        ...{ strict: true, noEmit: true, module: 'esnext', moduleResolution: 'bundler', target: 'esnext' },
        ...{ skipLibCheck: true, types: [], allowImportingTsExtensions: true },
      },
      files: ['generated.ts', 'inferred.ts'],
    }),
    'schema.d.ts': outputIntrospectionFile(minifyIntrospection(introspection as never), {
      fileType: '.d.ts',
      shouldPreprocess: true,
    }),
    'generated.ts': use(`import type { ListedQuery, ListedQueryVariables } from './gql/graphql.ts'
      type Answer = ListedQuery
      type Variables = ListedQueryVariables`),
    'inferred.ts': use(`import { initGraphQLTada, type ResultOf, type VariablesOf } from 'gql.tada'
      import type { introspection } from './schema.d.ts'
      const graphql = initGraphQLTada<{ introspection: introspection; scalars: { DateTime: string; Revision: string; JSON: unknown } }>()
      const listed = graphql(\`${listed}\`)
      export const others = [graphql(\`${found}\`), graphql(\`${forgot}\`), graphql(\`${followed}\`)]
      type Answer = ResultOf<typeof listed>
      type Variables = VariablesOf<typeof listed>`),
  })
  const { stdout } = await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder]).catch(
    (error: { stdout: string }) => error,
  )
  expect(stdout).toBe('')
})
