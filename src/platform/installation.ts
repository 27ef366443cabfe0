/**
 * Where the files of this program are: in a checkout, which Node runs as it is, or in the package, whose `dist/` has it as a bundle. The executable has the
 * package inside. There, Node shows the main thread its files at a path of their own; other threads read them as assets.
 */
import { join } from 'node:path'
import { getAsset, isSea } from 'node:sea'

/** Whether this is the package, and not a checkout. */
export const isBundled = !import.meta.filename.endsWith('.ts')

/** The folder that has `package.json` and `drizzle/`. */
export const root = join(import.meta.dirname, isBundled ? '..' : '../..')

/** Whether this is the executable (`npm run build:executable`). */
export const isExecutable = isSea()

/** A file that is inside the executable, by its path from the root. */
export const embeddedFile = (path: string): Buffer => Buffer.from(getAsset(path))
