/** Declaring what should run, and forgetting what should no longer be spoken of. */
import type { Deployment, Millis, Revision } from '../../domain/deployment.ts'
import { DomainError } from '../../domain/errors.ts'
import { declaredRollout, implicitRollout } from '../../domain/rollout.ts'
import { applyDeclaration, forgetDeployment } from '../../domain/transition.ts'
import type { Command } from '../command.ts'
import { ensureChild, parentName } from '../devices.ts'
import type { World } from '../world.ts'

export interface DeploymentDeclaration {
  readonly deviceId: string
  readonly deploymentId: string
  readonly application: string | null
  readonly applicationVersion: string | null
  readonly components: readonly string[] | null
}

export interface Declared {
  readonly revision: Revision
  readonly rolloutKey: number | null
  readonly deploymentKeys: readonly number[]
}

export function declareDeployments(
  rollout: { readonly name: string; readonly project: string | null } | null,
  deployments: readonly DeploymentDeclaration[],
): Command<Declared> {
  const named = rollout ? declaredRollout(rollout.name, rollout.project) : null
  return {
    needs: {
      deployments: deployments.map(({ deploymentId, deviceId }) => ({
        deploymentId,
        reporter: deviceId,
        device: deviceId,
        anyReporter: true,
        otherwise: implicitRollout(deploymentId),
      })),
      devices: deployments.flatMap(({ deviceId }) => [deviceId, parentName(deviceId) ?? deviceId]),
      rollouts: named ? [named] : [],
    },
    decide(world) {
      const rolloutKey = named ? world.ensureRollout(named).key : null
      const deploymentKeys = deployments.map((declaration) => declare(world, declaration, rolloutKey))
      return { revision: world.revision(), rolloutKey, deploymentKeys }
    },
  }
}

function declare(world: World, declaration: DeploymentDeclaration, rolloutKey: number | null): number {
  const { deploymentId, deviceId } = declaration
  const parent = parentName(deviceId)
  const target = parent ? ensureChild(world, deviceId, parent) : world.ensureDevice(deviceId)
  const known = findDeclared(world, deploymentId, deviceId, target.key)
  const place = {
    key: known?.key ?? world.newKey(),
    targetKey: target.key,
    rolloutKey: known?.rolloutKey ?? rolloutKey ?? world.ensureRollout(implicitRollout(deploymentId)).key,
  }
  const outcome = applyDeclaration(known, { ...declaration, reporter: deviceId, rolloutKey }, place, world.moment())
  world.commit(known, outcome, null)
  return place.key
}

/** The device's own, or whoever's runs on it; what was forgotten comes back only when nothing else is there. */
function findDeclared(world: World, deploymentId: string, deviceId: string, targetKey: number): Deployment | null {
  const own = world.deployment(deploymentId, deviceId)
  const candidates = [...(own ? [own] : []), ...world.deploymentsOn(deploymentId, targetKey)]
  return candidates.find((deployment) => deployment.forgottenAt === null) ?? candidates[0] ?? null
}

export function forgetDeployments(keys: readonly number[]): Command<{ readonly revision: Revision }> {
  return {
    needs: { deploymentKeys: keys },
    decide(world) {
      const missing = keys.findIndex((key) => !world.deploymentByKey(key))
      if (missing >= 0)
        throw new DomainError('NOT_FOUND', 'there is no such deployment', {
          problems: [{ field: `ids[${missing}]`, message: 'names no deployment' }],
        })
      const orchestrated = keys.findIndex((key) => world.deploymentByKey(key)?.instanceKey !== null)
      if (orchestrated >= 0)
        throw new DomainError(
          'INVALID_REQUEST',
          'what an orchestrator runs cannot be forgotten: terminate its rollout',
          {
            problems: [{ field: `ids[${orchestrated}]`, message: 'is run by an orchestrator' }],
          },
        )
      for (const key of keys) forget(world, key)
      return { revision: world.revision() }
    },
  }
}

/** Retention's form: only what is still REMOVED, and has been since before `before`. */
export function forgetRemoved(keys: readonly number[], before: Millis): Command<{ readonly revision: Revision }> {
  return {
    needs: { deploymentKeys: keys },
    decide(world) {
      for (const key of keys) {
        const known = world.deploymentByKey(key)
        if (known?.state === 'REMOVED' && known.changedAt < before) forget(world, key)
      }
      return { revision: world.revision() }
    },
  }
}

function forget(world: World, key: number): void {
  const known = world.deploymentByKey(key)
  if (known) world.commit(known, forgetDeployment(known, world.moment()), null)
}
