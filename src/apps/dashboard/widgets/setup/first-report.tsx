/** What an empty server shows: commands that work here. */
import type { ComponentChildren } from 'preact'
import {
  declareCommand,
  instanceCommand,
  isOpenToDevices,
  reportCommand,
  simulateCommand,
  whereToRun,
} from '../../data/commands.ts'
import { inScope, isOperator, isReader } from '../../data/viewer.ts'
import { href } from '../../route.ts'
import { Command, Watch } from './command.tsx'

export function FirstReport() {
  const isOpen = isOpenToDevices()
  if (inScope.value) return <Nothing>No reports yet{inScope.value}.</Nothing>
  return (
    <section class="panel empty" aria-label="Get started">
      <p>No reports yet. {isOpen ? 'Send the first one from a terminal:' : 'Devices need a credential here.'}</p>
      {!isOpen && isOperator.value && (
        <p>
          <a href={href(['setup', 'devices'])}>Register a device</a> to get its token. Then send its first report:
        </p>
      )}
      <Command label="Report">
        {reportCommand('edge-1', isOpen ? { kind: 'none' } : { kind: 'token', token: null })}
      </Command>
      <Watch />
      <Simulate />
    </section>
  )
}

/** Rollouts are declared, or an orchestrator makes them. */
export function FirstRollout() {
  if (isReader.value)
    return <Nothing>No rollouts yet{inScope.value}. Operators and orchestrators declare them.</Nothing>
  return (
    <section class="panel empty" aria-label="Get started">
      <p>No rollouts yet. Declare which deployments should run on which devices:</p>
      <Command label="Declare">{declareCommand()}</Command>
    </section>
  )
}

/** Resources are reported by orchestrators, and by the clusters that Rollcall watches. */
export function FirstResource() {
  if (isReader.value)
    return <Nothing>No resources yet{inScope.value}. Orchestrators and clusters report Kubernetes objects.</Nothing>
  return (
    <section class="panel empty" aria-label="Get started">
      <p>No resources yet. Orchestrators report the Kubernetes objects that they apply, and clusters their state:</p>
      <Command label="Report an object and its state">{instanceCommand()}</Command>
      <Simulate />
    </section>
  )
}

const Nothing = ({ children }: { readonly children: ComponentChildren }) => (
  <section class="panel empty" aria-label="Get started">
    <p>{children}</p>
  </section>
)

function Simulate() {
  const command = simulateCommand()
  return <Command label={`Or simulate a whole fleet${whereToRun(command)}`}>{command}</Command>
}
