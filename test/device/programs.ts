/** Programs that a person writes with a device's queue, in each language. */
import { execFile } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../support/documentation.ts'
import { hasCompiler, hasPython } from '../support/runner/programs.ts'
import { linkPackages } from '../support/servers/package.ts'

const run = promisify(execFile)
const examples = join(root, 'examples')

interface Language {
  readonly name: 'js' | 'python' | 'c'
  readonly isThere: boolean
  run(folder: string, text: string): Promise<unknown>
}

const languages: readonly Language[] = [
  {
    name: 'js',
    isThere: true,
    async run(folder, text) {
      if (!existsSync(join(folder, 'node_modules'))) linkPackages(folder)
      writeFileSync(join(folder, 'agent.mjs'), text)
      return run(process.execPath, ['agent.mjs'], { cwd: folder })
    },
  },
  {
    name: 'python',
    isThere: hasPython(),
    async run(cwd, text) {
      writeFileSync(join(cwd, 'agent.py'), text)
      return run('python3', ['agent.py'], {
        cwd,
        env: { ...process.env, PYTHONPATH: examples, PYTHONDONTWRITEBYTECODE: '1' },
      })
    },
  },
  {
    name: 'c',
    isThere: hasCompiler(),
    async run(cwd, text) {
      writeFileSync(join(cwd, 'agent.c'), text)
      const options = ['-Wall', '-Werror', '-I', examples, '-pthread', 'agent.c', '-o', 'agent', '-lcurl', '-lcrypto']
      await run('cc', options, { cwd })
      return run('./agent', [], { cwd })
    },
  },
]

export const programs = languages.filter(({ isThere }) => isThere)
