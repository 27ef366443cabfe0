/** The packages of the lockfile that the server needs, without those for development only. */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../documentation.ts'

interface Locked {
  readonly dev?: boolean
  readonly devOptional?: boolean
}

/** The packages that the server needs, as `npm ci` installed them: npm then finds all of them, and asks no registry. */
export function copyDependencies(to: string): void {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const needed = Object.entries<Locked>(lock.packages)
    .filter(([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional)
    .map(([path]) => path)
    .filter((path) => path.lastIndexOf('node_modules/') === 0 && existsSync(join(root, path)))
  mkdirSync(join(to, 'node_modules'), { recursive: true })
  // Without the links of its programs, npm installs a package again.
  for (const path of [...needed, 'node_modules/.bin']) {
    mkdirSync(dirname(join(to, path)), { recursive: true })
    // Hard links where the temporary folder is on the same disk.
    const isLinked = spawnSync('cp', ['-al', join(root, path), join(to, path)]).status === 0
    if (!isLinked) cpSync(join(root, path), join(to, path), { recursive: true, verbatimSymlinks: true })
  }
}

/** Programs in the folder import the package, and these libraries. */
export function linkPackages(folder: string, libraries: readonly string[] = []): void {
  const modules = join(folder, 'node_modules')
  mkdirSync(modules, { recursive: true })
  symlinkSync(process.env.ROLLCALL_BUILT ?? '', join(modules, 'rollcall'))
  for (const name of libraries) symlinkSync(join(root, 'node_modules', name), join(modules, name))
}
