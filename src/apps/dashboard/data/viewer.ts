/** What the caller may do. The API refuses the rest, whatever the page offers. */
import { computed } from '@preact/signals'
import { session } from './api.ts'

const has = (...wanted: readonly string[]): boolean =>
  session.value !== null &&
  session.value.scopes.length === 0 &&
  session.value.roles.some((role) => wanted.includes(role))

/** The role operator or admin for the whole fleet. */
export const isOperator = computed(() => has('operator', 'admin'))

/** What the caller sees, as in its key or token. Empty: the whole fleet. */
export const scopes = computed(() => session.value?.scopes ?? [])

/** After a statement that something is empty. */
export const inScope = computed(() => (scopes.value.length > 0 ? ' in the part of the fleet that you can see' : ''))

/** The caller may not declare anything, as far as it is known. */
export const isReader = computed(() => session.value !== null && !isOperator.value)

/** After a statement that something does not exist: the API says the same of what the caller may not see. Empty: the caller sees the whole fleet. */
export const orOutside = computed(() =>
  scopes.value.length > 0 ? ', or it is outside the part of the fleet that you can see' : '',
)

/** The role admin for the whole fleet. */
export const isAdmin = computed(() => has('admin'))
