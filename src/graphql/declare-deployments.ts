import { setImmediate } from 'node:timers/promises'
import {
  type ApplicationDeployment,
  parseApplicationDeployment,
  type RefusedDocument,
} from '../dialects/margo/application-deployment.ts'
import { digestOf } from '../dialects/margo/digest.ts'
import type { Revision } from '../domain/deployment.ts'
import { manifestOwner } from '../domain/desired.ts'
import { declareDeployments } from '../ingest/commands/declare.ts'
import type { DesiredDocument } from '../ingest/desired.ts'
import type { DeploymentRow } from '../store/deployments.ts'
import type { RolloutRow } from '../store/rollouts.ts'
import { builder } from './builder.ts'
import { Deployment } from './deployment.ts'
import { desireOf } from './desire.ts'
import { checkInput } from './input-check.ts'
import { required } from './required.ts'
import { Rollout } from './rollout.ts'
import { attempt, Conflict, Forbidden, type InputProblem, InvalidInput } from './user-error.ts'

const maxComponents = 1_000

const DeclaredRolloutInput = builder.inputType('DeclaredRolloutInput', {
  description: 'The rollout that the deployments are put into; it is made if there is none of that name.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name, unique within its project.' }),
    project: t.string({ description: 'The project it belongs to.' }),
  }),
})

const DeploymentDeclaration = builder.inputType('DeploymentDeclaration', {
  description: 'A deployment that should be there. What is left out stays as it is.',
  fields: (t) => ({
    deviceId: t.string({ required: true, description: 'The device it should run on.' }),
    deploymentId: t.string({ required: true, description: 'What its reports will call it.' }),
    application: t.string({ description: 'What is deployed.' }),
    applicationVersion: t.string({ description: 'Its version.' }),
    components: t.stringList({
      description:
        'Names of its parts: PENDING until they are reported. With a document they are those of the document.',
    }),
    document: t.string({
      description:
        "Margo's ApplicationDeployment, YAML or JSON, that the device should fetch and apply, kept byte for byte; it names the application, too. At most 256 KiB.",
    }),
  }),
})

const DeclareDeploymentsInput = builder.inputType('DeclareDeploymentsInput', {
  description: 'What declareDeployments takes.',
  fields: (t) => ({
    rollout: t.field({
      type: DeclaredRolloutInput,
      description: 'Where they belong; without it each stays in its own or goes into one per deploymentId.',
    }),
    deployments: t.field({
      type: [DeploymentDeclaration],
      required: true,
      description: 'The deployments, each once: 1 to 10,000.',
    }),
    reason: t.string({ description: "Why: stands beside the new versions of the devices' manifests." }),
  }),
})

interface DeclaredRow {
  readonly type: 'DeclareDeploymentsSuccess'
  readonly revision: Revision
  readonly rollout: RolloutRow | null
  readonly deployments: readonly DeploymentRow[]
}

const Success = builder.objectRef<DeclaredRow>('DeclareDeploymentsSuccess').implement({
  access: 'operator',
  description: 'All of them are declared.',
  fields: (t) => ({
    revision: t.expose('revision', { type: 'Revision', description: 'The newest revision when it was done.' }),
    rollout: t.expose('rollout', { type: Rollout, nullable: true, description: 'The rollout, if one was named.' }),
    deployments: t.expose('deployments', { type: [Deployment], description: 'The deployments, in their order.' }),
  }),
})

const Result = builder.unionType('DeclareDeploymentsResult', {
  description: 'What became of declareDeployments.',
  types: [Success, InvalidInput, Conflict, Forbidden],
  resolveType: (result) => result.type,
})

builder.mutationField('declareDeployments', (t) =>
  t.field({
    access: 'operator of all',
    type: Result,
    description:
      'Says what should run where, all or nothing. They are PENDING until their first reports. Saying it again revises it.',
    args: { input: t.arg({ type: DeclareDeploymentsInput, required: true, description: 'The deployments.' }) },
    resolve: async (_, { input }, context) => {
      const documents = await readDocuments(input.deployments)
      return attempt(['Conflict', 'Forbidden', 'InvalidInput'], problemsOf(input, documents), async () => {
        const rollout = input.rollout ? { name: input.rollout.name, project: input.rollout.project ?? null } : null
        const declared = await context.write(
          declareDeployments(
            rollout,
            input.deployments.map((declaration, index) => toDeclaration(declaration, documents[index] ?? null)),
            desireOf(context, input.reason ?? null),
          ),
        )
        const { revision, rolloutKey, deploymentKeys } = declared
        const reader = await context.reader()
        const [found, deployments] = await Promise.all([
          rolloutKey === null ? null : reader.rollout(rolloutKey, null),
          Promise.all(deploymentKeys.map(async (key) => required(await reader.deployment(key, null), 'deployment'))),
        ])
        return { type: 'DeclareDeploymentsSuccess' as const, revision, rollout: found ?? null, deployments }
      })
    },
  }),
)

type DeclarationInput = typeof DeploymentDeclaration.$inferInput

interface Read {
  readonly document: DesiredDocument
  readonly said: ApplicationDeployment | RefusedDocument
}

/** Milliseconds. */
const longestTurn = 10

/** In their order, with pauses: a thousand documents must not keep everybody else waiting. One that is there again is read once. */
async function readDocuments(deployments: readonly DeclarationInput[]): Promise<readonly (Read | null)[]> {
  const texts = new Map<string, ReturnType<typeof readText>>()
  const read: (Read | null)[] = []
  let since = performance.now()
  for (const declaration of deployments) {
    const { document: text } = declaration
    const known = typeof text === 'string' ? (texts.get(text) ?? readText(text)) : null
    if (known && typeof text === 'string') texts.set(text, known)
    read.push(known && { document: known.document, said: known.parse(declaration) })
    if (performance.now() - since < longestTurn) continue
    await setImmediate()
    since = performance.now()
  }
  return read
}

function readText(content: string) {
  const bytes = Buffer.from(content)
  const document: DesiredDocument = { content, digest: digestOf(bytes), size: bytes.length }
  return { document, parse: parseApplicationDeployment(content) }
}

function toDeclaration(input: DeclarationInput, read: Read | null) {
  const { deviceId, deploymentId, applicationVersion } = input
  const said = read?.said.problems === null ? read.said : null
  return {
    deviceId,
    deploymentId,
    application: input.application ?? said?.application ?? null,
    applicationVersion: applicationVersion ?? null,
    components: said?.components ?? input.components ?? null,
    ...(read && { document: read.document }),
  }
}

/** Of `spec.parameters["a.b"].targets[0]`: each key as it is. */
function pathOf(field: string): string[] {
  const parts = field.match(/"(?:[^"\\]|\\.)*"|[^.[\]]+/g) ?? []
  return parts.map((part) => (part.startsWith('"') ? String(JSON.parse(part)) : part))
}

function problemsOf(
  { rollout, deployments, reason }: typeof DeclareDeploymentsInput.$inferInput,
  documents: readonly (Read | null)[],
): readonly InputProblem[] {
  const check = checkInput()
  check.name(['rollout', 'name'], rollout?.name)
  check.name(['rollout', 'project'], rollout?.project)
  check.text(['reason'], reason)
  if (deployments.length === 0) check.add(['deployments'], 'must not be empty')
  if (!check.list(['deployments'], deployments)) return check.problems
  deployments.forEach((declaration, index) => {
    const { deviceId, deploymentId, application, applicationVersion, components, document } = declaration
    const at = ['deployments', index]
    check.name([...at, 'deviceId'], deviceId)
    check.name([...at, 'deploymentId'], deploymentId)
    check.name([...at, 'application'], application)
    check.name([...at, 'applicationVersion'], applicationVersion)
    if (typeof document === 'string') {
      for (const { field, message } of documents[index]?.said.problems ?? [])
        check.add([...at, 'document', ...pathOf(field)], message)
      if (components) check.add([...at, 'components'], 'must be left out: they are those of the document')
    }
    if (!components) return
    if (components.length > maxComponents)
      check.add([...at, 'components'], `must have at most ${maxComponents} elements`)
    const paths = components.map((_, component) => [...at, 'components', component])
    components.forEach((name, component) => {
      check.name(paths[component] ?? at, name)
    })
    check.unique(paths, components, 'is there twice')
  })
  check.unique(
    deployments.map((_, index) => ['deployments', index]),
    deployments.map(({ deviceId, deploymentId }) => JSON.stringify([deviceId, deploymentId])),
    'is there twice',
  )
  // A gateway's manifest lists each of them once, on whichever child it runs.
  const documented = deployments.flatMap(({ deviceId, deploymentId, document }, index) =>
    typeof document === 'string' ? [{ index, name: JSON.stringify([manifestOwner(deviceId), deploymentId]) }] : [],
  )
  check.unique(
    documented.map(({ index }) => ['deployments', index, 'document']),
    documented.map(({ name }) => name),
    "is the second document of that deploymentId in one gateway's manifest",
  )
  return check.problems
}
