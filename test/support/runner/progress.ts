/**
 * What a run prints besides its failures: how far it is, the slowest files, and for each failed test the command that runs only it. Vitest's own
 * reporters print a line for each file.
 */
import { relative } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'

const listed = 10

interface Options {
  readonly root: string
  /** What the command that runs a test again begins with: the variables of this run. */
  readonly command: string
  readonly out?: NodeJS.WriteStream
}

export function showProgress({ root, command, out = process.stdout }: Options): Reporter {
  const began = performance.now()
  let total = 0
  let done = 0
  let failed = 0

  function showLine(): void {
    const seconds = Math.round((performance.now() - began) / 1_000)
    const line = `${done} of ${total} files, ${failed} failed, ${seconds} s`
    if (out.isTTY) out.write(`\r\u001B[K${line}${done === total ? '\n' : ''}`)
    else if (Math.floor((done * 4) / total) > Math.floor(((done - 1) * 4) / total)) out.write(`${line}\n`)
  }

  return {
    onTestRunStart(specifications) {
      total = specifications.length
    },
    onTestModuleEnd(module) {
      done += 1
      if (!module.ok()) failed += 1
      showLine()
    },
    onTestRunEnd(modules) {
      const named = modules.map((module) => ({ module, name: relative(root, module.moduleId) }))
      const slowest = named.toSorted((a, b) => durationOf(b.module) - durationOf(a.module)).slice(0, listed)
      const lines = slowest.map(
        ({ module, name }) => `${(durationOf(module) / 1_000).toFixed(1).padStart(6)} s ${name}`,
      )
      if (modules.length > 1) out.write(`the slowest files:\n${lines.join('\n')}\n`)
      const again = named.flatMap(({ module, name }) => commandsOf(module, `${command} ${name}`))
      if (again.length > 0) out.write(`to run only what failed:\n${again.join('\n')}\n`)
    },
  }
}

const durationOf = (module: TestModule): number => module.diagnostic().duration

function commandsOf(module: TestModule, command: string): readonly string[] {
  if (module.ok()) return []
  const tests = [...module.children.allTests('failed')]
  // A file that could not be loaded, or whose hooks failed, has no failed test.
  if (tests.length === 0) return [command]
  return tests.map(({ fullName }) => `${command} -t ${quote(pattern(fullName))}`)
}

/** Vitest takes a regular expression. RegExp.escape would also escape spaces and the first letter. */
const pattern = (fullName: string): string => `^${fullName.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
