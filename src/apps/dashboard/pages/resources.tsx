/** All resources of the fleet, filtered by problem. */
import { useResources } from '../data/resource-rows.ts'
import { at } from '../route.ts'
import { ResourceList, useResourceFilter } from '../widgets/lists/resource-list.tsx'
import { FirstResource } from '../widgets/setup/first-report.tsx'

export function ResourcesPage() {
  const source = useResources({ of: 'fleet' }, useResourceFilter(), at.value)
  return (
    <>
      <h1>Resources</h1>
      <ResourceList
        source={source}
        label="Resources"
        empty={source.all === 0 && at.value === null ? <FirstResource /> : undefined}
      />
    </>
  )
}
