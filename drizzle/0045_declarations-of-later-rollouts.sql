-- A deployment may have moved since its manifest was declared. That declaration was not one of the rollout it is in now, if this rollout is younger.
DELETE FROM declarations d USING rollouts r WHERE r.key = d.rollout_key AND d.revision < r.created_revision;
