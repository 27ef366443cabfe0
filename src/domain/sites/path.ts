import { hasUnseen, isStorable } from '../text.ts'

const longestPath = 512
const longestName = 100

/** The rule of `isPath`, for an error. */
export const pathRule = `must be names divided by "/", as "eu/berlin": each of 1 to ${longestName} characters, none of them a control character, not "." or ".."`

/** The path of a site: names that divide regions, plants, halls and cells. */
export function isPath(value: string): boolean {
  return value.length <= longestPath && value.split('/').every(isName)
}

function isName(name: string): boolean {
  return (
    name !== '' && name.length <= longestName && name !== '.' && name !== '..' && isStorable(name) && !hasUnseen(name)
  )
}
