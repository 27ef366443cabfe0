/** `npm run simulate:check`: as `npm run simulate`, and at the end it compares the server with everything that it acknowledged. */
import { parseOptions } from '../../../src/apps/simulate/options.ts'
import { describeDifferences, runInTerminal } from '../../../src/apps/simulate/progress.ts'
import { type Findings, simulate } from './checked.ts'

function describeFindings({ differences, deployments, reports, changes, ...more }: Findings): string {
  const { groups, instances, resources } = more.clusters
  const uncertain = more.uncertain + more.clusters.uncertain + more.agents.uncertain
  const devices = `${deployments} deployments, ${reports} of their reports and ${changes} of their changes`
  const others = groups > 0 ? `, ${groups} intent groups with ${instances} instances and ${resources} resources` : ''
  const { agents, convergence } = more.agents
  const byConvergence = Object.entries(convergence).flatMap(([name, n]) => (n > 0 ? [`${n} ${name}`] : []))
  const fetching = agents > 0 ? `, ${agents} agents (${byConvergence.join(', ')})` : ''
  const checked = `Checked ${devices}${others}${fetching}`
  const allowance = uncertain > 0 ? ` (${uncertain} with more than one possible state, because an answer was lost)` : ''
  if (differences.length === 0)
    return `${checked}${allowance}. The server has everything that it acknowledged, and nothing else.`
  return describeDifferences(`${checked}${allowance}: ${differences.length} differences.`, differences)
}

const options = parseOptions(process.argv.slice(2), process.env, Date.now())
if (options.isHelp) console.log('The options of npm run simulate: see npm run simulate -- --help.')
else {
  const code = await runInTerminal(options, async (...run) => {
    const findings = await simulate(...run)
    return { text: describeFindings(findings), isRight: findings.differences.length === 0 }
  })
  process.exit(code)
}
