import type { Revision } from '../domain/deployment.ts'
import { declareDeployments } from '../ingest/commands/declare.ts'
import type { DeploymentRow } from '../store/deployments.ts'
import type { RolloutRow } from '../store/rollouts.ts'
import { builder } from './builder.ts'
import { Deployment } from './deployment.ts'
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
    components: t.stringList({ description: 'Names of its parts: PENDING until they are reported.' }),
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
    resolve: (_, { input }, context) =>
      attempt(['Conflict', 'Forbidden', 'InvalidInput'], problemsOf(input), async () => {
        const rollout = input.rollout ? { name: input.rollout.name, project: input.rollout.project ?? null } : null
        const declared = await context.write(
          declareDeployments(
            rollout,
            input.deployments.map(({ deviceId, deploymentId, application, applicationVersion, components }) => ({
              deviceId,
              deploymentId,
              application: application ?? null,
              applicationVersion: applicationVersion ?? null,
              components: components ?? null,
            })),
          ),
        )
        const { revision, rolloutKey, deploymentKeys } = declared
        const reader = await context.reader()
        const [found, deployments] = await Promise.all([
          rolloutKey === null ? null : reader.rollout(rolloutKey, null),
          Promise.all(deploymentKeys.map(async (key) => required(await reader.deployment(key, null), 'deployment'))),
        ])
        return { type: 'DeclareDeploymentsSuccess' as const, revision, rollout: found ?? null, deployments }
      }),
  }),
)

function problemsOf({ rollout, deployments }: typeof DeclareDeploymentsInput.$inferInput): readonly InputProblem[] {
  const check = checkInput()
  check.name(['rollout', 'name'], rollout?.name)
  check.name(['rollout', 'project'], rollout?.project)
  if (deployments.length === 0) check.add(['deployments'], 'must not be empty')
  if (!check.list(['deployments'], deployments)) return check.problems
  deployments.forEach(({ deviceId, deploymentId, application, applicationVersion, components }, index) => {
    const at = ['deployments', index]
    check.name([...at, 'deviceId'], deviceId)
    check.name([...at, 'deploymentId'], deploymentId)
    check.name([...at, 'application'], application)
    check.name([...at, 'applicationVersion'], applicationVersion)
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
  return check.problems
}
