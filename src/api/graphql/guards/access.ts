/**
 * Access control per field. Types and root fields do not compile without `access`. Fields inherit the access of their
 * type unless they set their own.
 *
 * Access depends only on the document, never on stored data. So it is checked before execution, once per document, and
 * a refusal reveals nothing about the fleet. A mutation that is not allowed returns `Forbidden`, which every result
 * type includes.
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
import { type Access, describeAccess, may, type Principal } from '../../../domain/principal.ts'
import { summaryOf } from './audit-entry.ts'

declare global {
  // biome-ignore-start lint/correctness/noUnusedVariables: declarations that merge have the same parameters.
  namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      access: AccessPlugin<Types>
    }
    interface ObjectTypeOptions<Types extends SchemaTypes = SchemaTypes, Shape = unknown> {
      /** The access that its fields require. */
      access: Access
    }
    interface InterfaceTypeOptions<
      Types extends SchemaTypes = SchemaTypes,
      Shape = unknown,
      Interfaces extends InterfaceParam<Types>[] = InterfaceParam<Types>[],
      ResolveType = unknown,
    > {
      /** The access that its fields require. Implementing types require the same. */
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
      /** The access that the field requires, if it differs from its type. */
      access?: Access
    }
    interface QueryFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveReturnShape,
    > {
      /** The access that the query requires. */
      access: Access
    }
    interface MutationFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveReturnShape,
    > {
      /** The access that the mutation requires. */
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
      /** The access that the subscription requires. */
      access: Access
    }
  }
  // biome-ignore-end lint/correctness/noUnusedVariables: declarations that merge have the same parameters.
}

/** The part of the context that the plugin needs. */
interface CallerContext {
  readonly principal: Principal
  act<Result>(action: string, detail: unknown, work: () => Result): Promise<Awaited<Result>>
}

class AccessPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(field: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const { access: own } = field.pothosOptions as { readonly access?: Access }
    const type = this.builder.configStore.getTypeConfig(field.parentType)
    const access = own ?? (type.pothosOptions as { readonly access?: Access }).access
    if (!access) throw new Error(`${field.parentType}.${field.name} has no access: set it on the field or on its type`)
    return { ...field, extensions: { ...field.extensions, access } }
  }

  override wrapResolve(
    resolve: GraphQLFieldResolver<unknown, Types['Context'], object>,
    field: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    if (field.kind !== 'Mutation') return resolve
    const { access } = field.pothosOptions
    return (root, args, context, info) => {
      const { principal, act } = context as unknown as CallerContext
      const { input } = args as { readonly input?: unknown }
      return act(field.name, summaryOf(input), () =>
        may(principal, access) ? resolve(root, args, context, info) : forbidden(field.name, access),
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

/** Schema errors that would bypass access control or break a refusal. */
function* problemsOf(schema: GraphQLSchema): Generator<string> {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) && !isInterfaceType(type)) continue
    for (const from of type.getInterfaces())
      for (const name of Object.keys(from.getFields()))
        if (accessOf(type.getFields()[name]) !== accessOf(from.getFields()[name]))
          yield `${type.name}.${name} and ${from.name}.${name} must have the same access: the interface reads the same field`
  }
  for (const { name, type } of Object.values(schema.getMutationType()?.getFields() ?? {})) {
    const result = 'ofType' in type ? type.ofType : type
    if (!isUnionType(result) || !result.getTypes().some((one) => one.name === 'Forbidden'))
      yield `the result of the mutation ${name} must be a union that includes Forbidden`
  }
}

interface Restricted {
  readonly extensions?: { readonly access?: unknown }
}

/** Introspection fields have no access: they reveal only the schema. */
export function accessOf(field: Restricted | null | undefined): Access | null {
  return (field?.extensions?.access as Access | undefined) ?? null
}

interface Demand {
  readonly access: Access
  readonly name: string
  readonly node: FieldNode
}

const demands = new WeakMap<DocumentNode, readonly Demand[]>()

/** The reasons to refuse a document; empty: it is allowed. All operations and fragments of the document count. */
export function refuseOperation(schema: GraphQLSchema, document: DocumentNode, principal: Principal): GraphQLError[] {
  let needed = demands.get(document)
  if (!needed) {
    needed = demandsOf(schema, document)
    demands.set(document, needed)
  }
  return needed
    .filter(({ access }) => !may(principal, access))
    .map(
      ({ access, name, node }) =>
        new GraphQLError(`${name} needs ${describeAccess(access)}`, {
          nodes: node,
          extensions: { code: 'FORBIDDEN', http: { status: 403 } },
        }),
    )
}

/** The access of each selected field. Mutations are excluded: they return `Forbidden` themselves. */
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
