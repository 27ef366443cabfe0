import { manifestOwner } from '../../../domain/desired.ts'
import { declareDeployments } from '../../../ingest/commands/declare.ts'
import {
  type ApplicationDeployment,
  parseApplicationDeployment,
  type RefusedDocument,
} from '../../../ingest/dialects/margo/application-deployment.ts'
import { lazyList } from '../../../ingest/item-list.ts'
import type { DesiredDocument } from '../../../ingest/unit-of-work/desired-state.ts'
import { digestOf } from '../../../platform/body/digest.ts'
import { type Paced, paced } from '../../../platform/limits/pace.ts'
import { builder } from '../builder.ts'
import { required } from '../execution/required.ts'
import { LabelInput } from '../objects/label.ts'
import { Deployment, Rollout } from '../objects/refs.ts'
import { checkLabels } from './check-labels.ts'
import type { InputCheck } from './input-check.ts'
import { manifestUpdateOf } from './manifest-update.ts'
import { addMutation } from './mutation.ts'

const maxComponents = 1_000

const DeclaredRolloutInput = builder.inputType('DeclaredRolloutInput', {
  description: 'The rollout that the deployments join. It is created if it does not exist.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'The name, unique within the project.' }),
    project: t.string({ description: 'The project. Absent: none.' }),
    labels: t.field({
      type: [LabelInput],
      description:
        'All labels of the rollout, at most 100, each with a key of its own. The list replaces the previous one. Absent: the labels stay as they are.',
    }),
  }),
})

const DeploymentDeclaration = builder.inputType('DeploymentDeclaration', {
  description: 'A deployment that should exist. Absent fields keep their values.',
  fields: (t) => ({
    deviceId: t.string({ required: true, description: 'The ID of the device that it should run on.' }),
    deploymentId: t.string({ required: true, description: 'The deployment ID that its reports will use.' }),
    application: t.string({ description: 'The application.' }),
    applicationVersion: t.string({ description: 'The version of the application.' }),
    components: t.stringList({
      description:
        'Component names. Components are PENDING until they are reported. Not allowed with `document`, which names the components itself.',
    }),
    document: t.string({
      description:
        'A Margo ApplicationDeployment in YAML or JSON that the device should fetch and apply. It is stored byte for byte. It also names the application. At most 256 KiB.',
    }),
  }),
})

addMutation('declareDeployments', {
  access: 'operator of all',
  description:
    'Declares which deployments should run on which devices, all or none. They are PENDING until their first reports. Declaring a deployment again updates it.',
  input: {
    description: 'The deployments to declare.',
    fields: (t) => ({
      rollout: t.field({
        type: DeclaredRolloutInput,
        description:
          'The rollout that they join. Absent: each keeps its rollout, or joins the rollout of its deployment ID.',
      }),
      deployments: t.field({
        type: [DeploymentDeclaration],
        required: true,
        description: 'The deployments, without duplicates: 1 to 10,000.',
      }),
      reason: t.string({ description: 'The reason, shown with the new manifest versions.' }),
    }),
  },
  errors: ['Conflict'],
  check: async ({ rollout, deployments, reason }, check) => {
    check.name(['rollout', 'name'], rollout?.name)
    check.name(['rollout', 'project'], rollout?.project)
    checkLabels(check, ['rollout', 'labels'], rollout?.labels)
    check.text(['reason'], reason)
    const documents = await paced(readDocuments(deployments))
    checkDeclarations(deployments, documents, check)
    return documents
  },
  act: async (input, context, documents) => {
    const { rollout: joined } = input
    const { revision, rolloutKey, deploymentKeys } = await context.write(
      declareDeployments(
        joined ? { name: joined.name, project: joined.project ?? null, labels: joined.labels ?? null } : null,
        lazyList(input.deployments, (declaration, index) => toDeclaration(declaration, documents[index] ?? null)),
        manifestUpdateOf(context, input.reason ?? null),
      ),
    )
    const rollout = rolloutKey === null ? null : await (await context.reader()).rollout(rolloutKey, null)
    return { revision, rollout: rollout ?? null, deploymentKeys }
  },
  success: {
    access: 'operator',
    description: 'All deployments were declared.',
    fields: (t) => ({
      revision: t.expose('revision', { type: 'Revision', description: 'The newest revision after the commit.' }),
      rollout: t.expose('rollout', {
        type: Rollout,
        nullable: true,
        description: 'The rollout. Null: the input named none.',
      }),
      // Read only if the operation asks for them: there may be 10,000.
      deployments: t.field({
        type: [Deployment],
        description: 'The deployments, in the order of the input.',
        resolve: async ({ deploymentKeys }, _, context) => {
          const reader = await context.reader()
          return Promise.all(
            deploymentKeys.map(async (key) => required(await reader.deployment(key, null), 'deployment')),
          )
        },
      }),
    }),
  },
})

type DeclarationInput = typeof DeploymentDeclaration.$inferInput

interface Read {
  readonly document: DesiredDocument
  readonly parsed: ApplicationDeployment | RefusedDocument
}

/** Yields to the event loop, because a thousand documents would block other requests. Parses equal documents once. */
function* readDocuments(deployments: readonly DeclarationInput[]): Paced<readonly (Read | null)[]> {
  const texts = new Map<string, Pick<Read, 'document'> & { readonly parse: (of: DeclarationInput) => Read['parsed'] }>()
  const read: (Read | null)[] = []
  for (const declaration of deployments) {
    const { document: text } = declaration
    if (typeof text !== 'string') read.push(null)
    else {
      const known = texts.get(text) ?? { document: documentOf(text), parse: yield* parseApplicationDeployment(text) }
      texts.set(text, known)
      read.push({ document: known.document, parsed: known.parse(declaration) })
    }
    yield
  }
  return read
}

function documentOf(content: string): DesiredDocument {
  const bytes = Buffer.from(content)
  return { content, digest: digestOf(bytes), size: bytes.length }
}

function toDeclaration(input: DeclarationInput, read: Read | null) {
  const { deviceId, deploymentId, applicationVersion } = input
  const parsed = read?.parsed.problems === null ? read.parsed : null
  return {
    deviceId,
    deploymentId,
    application: input.application ?? parsed?.application ?? null,
    applicationVersion: applicationVersion ?? null,
    components: parsed?.components ?? input.components ?? null,
    ...(read && { document: read.document }),
  }
}

/** Splits `spec.parameters["a.b"].targets[0]` into its keys, unquoted. */
function pathOf(field: string): string[] {
  const parts = field.match(/"(?:[^"\\]|\\.)*"|[^.[\]]+/g) ?? []
  return parts.map((part) => (part.startsWith('"') ? String(JSON.parse(part)) : part))
}

function checkDeclarations(
  deployments: readonly DeclarationInput[],
  documents: readonly (Read | null)[],
  check: InputCheck,
): void {
  if (deployments.length === 0) check.add(['deployments'], 'must not be empty')
  if (!check.list(['deployments'], deployments)) return
  deployments.forEach((declaration, index) => {
    const { deviceId, deploymentId, application, applicationVersion, components, document } = declaration
    const at = ['deployments', index]
    check.deviceId([...at, 'deviceId'], deviceId)
    check.name([...at, 'deploymentId'], deploymentId)
    check.name([...at, 'application'], application)
    check.name([...at, 'applicationVersion'], applicationVersion)
    if (typeof document === 'string') {
      for (const { field, message } of documents[index]?.parsed.problems ?? [])
        check.add([...at, 'document', ...pathOf(field)], message)
      if (components) check.add([...at, 'components'], 'must be absent: the document names the components')
    }
    if (!components) return
    if (components.length > maxComponents)
      check.add([...at, 'components'], `must have at most ${maxComponents} elements`)
    const paths = components.map((_, component) => [...at, 'components', component])
    components.forEach((name, component) => {
      check.name(paths[component] ?? at, name)
    })
    check.unique(paths, components, 'is a duplicate')
  })
  check.unique(
    deployments.map((_, index) => ['deployments', index]),
    deployments.map(({ deviceId, deploymentId }) => JSON.stringify([deviceId, deploymentId])),
    'is a duplicate',
  )
  // A gateway has one manifest for all devices behind it, so a deploymentId may occur once for all of them.
  const documented = deployments.flatMap(({ deviceId, deploymentId, document }, index) =>
    typeof document === 'string' ? [{ index, name: JSON.stringify([manifestOwner(deviceId), deploymentId]) }] : [],
  )
  check.unique(
    documented.map(({ index }) => ['deployments', index, 'document']),
    documented.map(({ name }) => name),
    'duplicates this deploymentId in the manifest of the gateway',
  )
}
