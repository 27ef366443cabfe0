/** All resources of the fleet, chosen by what is wrong with them. */
import { useResources } from '../resource-rows.ts'
import { ResourceList, useWanted } from '../resources.tsx'
import { at } from '../route.ts'

export function ResourcesPage() {
  const source = useResources({ of: 'fleet', wanted: useWanted() }, null)
  return (
    <>
      <h1>Resources</h1>
      {at.value && <p class="note">All resources together are always the present: a rollout's have a past.</p>}
      <ResourceList source={source} label="Resources" empty="No resource is like that." />
    </>
  )
}
