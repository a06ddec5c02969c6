package fleet

import (
	"go.uber.org/zap"

	"github.com/hilo-id/hilo/scripts"
)

// logJump logs that a counter jumped because writes may have been lost.
func logJump(logger *zap.Logger, key string, got scripts.Range) {
	log := logger.With(
		zap.String("key", key),
		zap.String("evidence", string(got.Evidence)),
		zap.Int64("jump", got.Jump),
		zap.Int64("low", got.Low),
		zap.Int64("epoch", got.Epoch))
	if got.Evidence == scripts.EvidenceMissing {
		log.Error("the counter is gone: continuing above the greatest number that was issued to this client")
		return
	}
	if got.Evidence == scripts.EvidenceOrigin && got.Durable == scripts.DurableNone && got.Replicas == 0 {
		log = log.With(zap.String("avoid", "state what is true of the server's writes: hilo prefix set --durable always, or replicas:N"))
	}
	log.Warn("the server may have lost writes: the counter jumped ahead")
}

// removals are the reasons for the removal of Durable.
var removals = map[scripts.DurableState]string{
	scripts.DurableReplica: "a replica is connected",
	scripts.DurableHistory: "the server was promoted, or restarted otherwise than from its AOF",
	scripts.DurableAOF:     "its AOF is off",
	scripts.DurableCluster: "it is a node of a cluster",
}

// logRemoval logs that a script removed a server's Durable, because it is not true. Only the reply to the request that removed
// it shows that, so it is logged once.
func logRemoval(logger *zap.Logger, key string, state scripts.DurableState) {
	log := logger.With(zap.String("key", key))
	if reason, ok := removals[state]; ok {
		log.Warn("Durable was removed from the server's settings, since it is not true: restarts make counters jump from now on", zap.String("reason", reason))
		return
	}
	log.Error("Durable was removed from the server's settings, since writes were lost all the same", zap.String("reason", string(state)))
}
