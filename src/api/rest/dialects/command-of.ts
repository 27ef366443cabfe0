import type { Fact, Outcomes } from '../../../domain/orchestration/orchestrated-facts.ts'
import type { Command } from '../../../ingest/command.ts'
import { removeInstance, reportInstance, reportInstanceStatus } from '../../../ingest/commands/bundle-instance.ts'
import { reportConnectivity } from '../../../ingest/commands/connectivity.ts'
import { recordActions } from '../../../ingest/commands/lifecycle-actions.ts'
import { reportResources, reportStateSnapshot } from '../../../ingest/commands/resources.ts'

/** The command that writes a fact. `actor`: the name of the caller. */
export function commandOf(fact: Fact, actor: string): Command<Outcomes[Fact['of']]> {
  switch (fact.of) {
    case 'actions':
      return recordActions(fact.rollout, fact.actions, actor)
    case 'resources':
      return reportResources(fact.rollout, fact.instanceId, fact.resources)
    case 'snapshot':
      return reportStateSnapshot(fact.rollout, fact.snapshot)
    case 'connectivity':
      return reportConnectivity(fact.target, fact.connectivity)
    case 'instance':
      return reportInstance(fact.instance)
    case 'objects':
      return reportInstanceStatus(fact.instanceId, fact.objects)
    case 'removal':
      return removeInstance(fact.instanceId)
  }
}
