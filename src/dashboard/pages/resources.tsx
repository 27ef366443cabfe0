/** All resources of the fleet, chosen by what is wrong with them. */
import { useResources } from '../data/resource-rows.ts'
import { at } from '../route.ts'
import { ResourceList, useWanted } from '../widgets/resources.tsx'

export function ResourcesPage() {
  const source = useResources({ of: 'fleet', wanted: useWanted() }, null)
  return (
    <>
      <h1>Resources</h1>
      {at.value && (
        <p class="note">This list shows the present. To see past resources, open a rollout or a deployment.</p>
      )}
      <ResourceList source={source} label="Resources" empty="No resources match these filters." />
    </>
  )
}
