/** Questions that people ask every day. */
import type { GetPromptResult, McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { id } from './tool.ts'

const ask = (text: string): GetPromptResult => ({ messages: [{ role: 'user', content: { type: 'text', text } }] })

/** A name is a JSON string, so it ends where it ends. */
const quoted = (rollout: string | undefined): string =>
  rollout === undefined ? 'the fleet' : `the rollout ${JSON.stringify(rollout)}`

export function registerPrompts(server: McpServer): void {
  server.registerPrompt(
    'morning-report',
    { title: 'Morning report', description: 'What happened in the night, and what needs attention now.' },
    () =>
      ask(
        'Report on the fleet in at most ten lines. Use what_is_wrong, and changes_between for the last 12 hours. Begin with what needs a person now, then what changed, then what goes well. Give numbers, and the link of the page for each point.',
      ),
  )
  server.registerPrompt(
    'why-is-this-rollout-failing',
    {
      title: 'Why is this rollout failing?',
      description: 'The causes of the failures of one rollout, and what to do.',
      argsSchema: z.object({ rollout: id.describe('The name or the ID of the rollout.') }),
    },
    ({ rollout }) =>
      ask(
        `Find out why ${quoted(rollout)} is failing. Use the tool rollout, and the tool deployment for one deployment of each cause. Say what the failures have in common, whether it is worse than the rollout before it, what is known and what you assume, and what to check next.`,
      ),
  )
  server.registerPrompt(
    'compare-with-last-week',
    {
      title: 'Compare with last week',
      description: 'The fleet or a rollout now, and a week ago.',
      argsSchema: z.object({
        rollout: id.optional().describe('The name or the ID of a rollout. Absent: the whole fleet.'),
      }),
    },
    ({ rollout }) =>
      ask(
        `Compare ${quoted(rollout)} now with the same time a week ago. Use changes_between and state_at. Say what is better, what is worse, and which causes of failures are new.`,
      ),
  )
}
