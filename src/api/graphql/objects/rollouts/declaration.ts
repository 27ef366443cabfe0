/** Who declared deployments last, of the fleet and of each rollout. */
import type { Declaration as DeclarationRow } from '../../../../domain/desired.ts'
import type { Revision } from '../../../../domain/values.ts'
import { builder } from '../../builder.ts'
import { required } from '../../execution/required.ts'
import { pastArgs, pastOf } from '../past.ts'
import { Rollout } from '../refs.ts'

const Declaration = builder.objectRef<DeclarationRow & { readonly asOf: Revision | null }>('Declaration').implement({
  access: 'viewer',
  description: 'Deployments of a rollout were declared (`declareDeployments`).',
  fields: (t) => ({
    rollout: t.field({
      type: Rollout,
      description: 'The rollout.',
      resolve: async ({ rolloutKey, asOf }, _, context) =>
        required(await (await context.reader()).rollout(rolloutKey, asOf), 'rollout'),
    }),
    revision: t.expose('revision', {
      type: 'Revision',
      description: 'The newest revision that the declaration made in the rollout.',
    }),
    declaredAt: t.expose('at', { type: 'DateTime', description: 'When they were declared.' }),
    declaredBy: t.expose('caller', { type: 'String', description: 'The name of the caller that declared them.' }),
    reason: t.expose('why', { type: 'String', description: 'The reason that the caller gave. Empty: none.' }),
  }),
})

const nulls =
  'A declaration that changed nothing does not count. Null: there is none. Null for callers whose access scope has labels, too: they do not see whole rollouts.'

builder.objectField(Rollout, 'newestDeclaration', (t) =>
  t.field({
    type: Declaration,
    nullable: true,
    description: `The newest declaration of its deployments. One that only takes deployments away from it does not count: it is that of the rollout that they join. ${nulls}`,
    resolve: async ({ key, asOf }, _, { reader }) => {
      const found = await (await reader()).newestDeclaration(key, asOf)
      return found ? { ...found, asOf } : null
    },
  }),
)

builder.queryFields((t) => ({
  newestDeclaration: t.field({
    access: 'viewer',
    type: Declaration,
    nullable: true,
    description: `The newest declaration in any rollout that the caller sees. ${nulls}`,
    args: pastArgs(),
    resolve: async (_, args, context) => {
      const asOf = await pastOf(context, args)
      const found = await (await context.reader()).newestDeclarationOfFleet(asOf)
      return found ? { ...found, asOf } : null
    },
  }),
}))
