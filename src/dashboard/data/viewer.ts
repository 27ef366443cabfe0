/** What the caller may do. The API refuses the rest, whatever the page offers. */
import { computed } from '@preact/signals'
import { session } from './api.ts'

const has = (...wanted: readonly string[]): boolean =>
  session.value !== null &&
  session.value.scopes.length === 0 &&
  session.value.roles.some((role) => wanted.includes(role))

/** The role operator or admin for the whole fleet. */
export const isOperator = computed(() => has('operator', 'admin'))

/** The role admin for the whole fleet. */
export const isAdmin = computed(() => has('admin'))
