/** Where the files of this program are: in a checkout, which Node runs as it is, or in the package, whose `dist/` has it as a bundle. */
import { join } from 'node:path'

/** Whether this is the package, and not a checkout. */
export const isBundled = !import.meta.filename.endsWith('.ts')

/** The folder that has `package.json` and `drizzle/`. */
export const root = join(import.meta.dirname, isBundled ? '..' : '../..')
