/**
 * Who may read a field is said where the field is defined, and it must be said: types and root fields do not compile without
 * `access`. A type's fields have the type's, unless they say otherwise.
 *
 * That depends on the document alone, never on what is stored. So it is checked before anything is executed, once for a
 * document, and a refusal tells nothing about the fleet. A mutation that may not be done answers `Forbidden`, as its result says.
 */
import SchemaBuilder, {
  BasePlugin,
  type FieldNullability,
  type InputFieldMap,
  type InterfaceParam,
  type PothosOutputFieldConfig,
  type SchemaTypes,
  type TypeParam,
} from '@pothos/core'
import {
  type DocumentNode,
  type FieldNode,
  GraphQLError,
  type GraphQLFieldResolver,
  type GraphQLSchema,
  isInterfaceType,
  isObjectType,
  isUnionType,
  Kind,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql'
import { type Access, describeAccess, type Identity, may } from '../domain/identity.ts'
import { summaryOf } from './audit-entry.ts'

declare global {
  // biome-ignore-start lint/correctness/noUnusedVariables: declarations that merge have the same parameters.
  namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      access: AccessPlugin<Types>
    }
    interface ObjectTypeOptions<Types extends SchemaTypes = SchemaTypes, Shape = unknown> {
      /** Who may read its fields. */
      access: Access
    }
    interface InterfaceTypeOptions<
      Types extends SchemaTypes = SchemaTypes,
      Shape = unknown,
      Interfaces extends InterfaceParam<Types>[] = InterfaceParam<Types>[],
      ResolveType = unknown,
    > {
      /** Who may read its fields; the types that have it do not ask for more. */
      access: Access
    }
    interface FieldOptions<
      Types extends SchemaTypes = SchemaTypes,
      ParentShape = unknown,
      Type extends TypeParam<Types> = TypeParam<Types>,
      Nullable extends FieldNullability<Type> = FieldNullability<Type>,
      Args extends InputFieldMap = InputFieldMap,
      ResolveShape = unknown,
      ResolveReturnShape = unknown,
    > {
      /** Who may read it, where that is not whoever may read its type. */
      access?: Access
    }
    interface QueryFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveReturnShape,
    > {
      /** Who may ask it. */
      access: Access
    }
    interface MutationFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveReturnShape,
    > {
      /** Who may do it. */
      access: Access
    }
    interface SubscriptionFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveShape,
      ResolveReturnShape,
    > {
      /** Who may watch it. */
      access: Access
    }
  }
  // biome-ignore-end lint/correctness/noUnusedVariables: declarations that merge have the same parameters.
}

/** What the plugin needs of a context. */
interface Asking {
  readonly identity: Identity
  act<Result>(action: string, detail: unknown, work: () => Result): Promise<Awaited<Result>>
}

export class AccessPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(field: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const { access: own } = field.pothosOptions as { readonly access?: Access }
    const type = this.builder.configStore.getTypeConfig(field.parentType)
    const access = own ?? (type.pothosOptions as { readonly access?: Access }).access
    if (!access) throw new Error(`nobody said who may read ${field.parentType}.${field.name}: give it an access`)
    return { ...field, extensions: { ...field.extensions, access } }
  }

  override wrapResolve(
    resolve: GraphQLFieldResolver<unknown, Types['Context'], object>,
    field: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    if (field.kind !== 'Mutation') return resolve
    const { access } = field.pothosOptions
    return (root, args, context, info) => {
      const { identity, act } = context as unknown as Asking
      const { input } = args as { readonly input?: unknown }
      return act(field.name, summaryOf(input), () =>
        may(identity, access) ? resolve(root, args, context, info) : forbidden(field.name, access),
      )
    }
  }

  override afterBuild(schema: GraphQLSchema): GraphQLSchema {
    for (const problem of problemsOf(schema)) throw new Error(problem)
    return schema
  }
}

SchemaBuilder.registerPlugin('access', AccessPlugin)

function forbidden(name: string, access: Access) {
  return { type: 'Forbidden', message: `${name} needs ${describeAccess(access)}`, path: null, problems: [] }
}

/** What would let somebody read more than was said, or fail when it is refused. */
function* problemsOf(schema: GraphQLSchema): Generator<string> {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) && !isInterfaceType(type)) continue
    for (const from of type.getInterfaces())
      for (const name of Object.keys(from.getFields()))
        if (accessOf(type.getFields()[name]) !== accessOf(from.getFields()[name]))
          yield `${type.name}.${name} has another access than ${from.name}.${name}, by which it can be read, too`
  }
  for (const { name, type } of Object.values(schema.getMutationType()?.getFields() ?? {})) {
    const result = 'ofType' in type ? type.ofType : type
    if (!isUnionType(result) || !result.getTypes().some((one) => one.name === 'Forbidden'))
      yield `the result of the mutation ${name} must be a union that has Forbidden`
  }
}

interface Restricted {
  readonly extensions?: { readonly access?: unknown }
}

/** Introspection's own fields have none: they tell what the schema file tells. */
export function accessOf(field: Restricted | null | undefined): Access | null {
  return (field?.extensions?.access as Access | undefined) ?? null
}

interface Demand {
  readonly access: Access
  readonly name: string
  readonly node: FieldNode
}

const demands = new WeakMap<DocumentNode, readonly Demand[]>()

/** Why an operation is refused, whatever is stored; null: it is not. Every operation and fragment of the document counts. */
export function refuseOperation(schema: GraphQLSchema, document: DocumentNode, identity: Identity): GraphQLError[] {
  let needed = demands.get(document)
  if (!needed) {
    needed = demandsOf(schema, document)
    demands.set(document, needed)
  }
  return needed
    .filter(({ access }) => !may(identity, access))
    .map(
      ({ access, name, node }) =>
        new GraphQLError(`${name} needs ${describeAccess(access)}`, {
          nodes: node,
          extensions: { code: 'FORBIDDEN', http: { status: 403 } },
        }),
    )
}

/** One for each field that is selected somewhere; mutations answer for themselves. */
function demandsOf(schema: GraphQLSchema, document: DocumentNode): readonly Demand[] {
  const found = new Map<string, Demand>()
  const types = new TypeInfo(schema)
  const mutation = schema.getMutationType()?.name
  visit(
    document,
    visitWithTypeInfo(types, {
      [Kind.FIELD](node) {
        const field = types.getFieldDef()
        const parent = types.getParentType()?.name
        const access = accessOf(field)
        if (!field || !access || parent === mutation) return
        const name = `${parent}.${field.name}`
        if (!found.has(name)) found.set(name, { access, name, node })
      },
    }),
  )
  return [...found.values()]
}
