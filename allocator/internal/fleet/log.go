package fleet

import (
	"time"

	"go.uber.org/zap"

	"github.com/hilo-id/hilo/scripts"
)

// logJump logs that a counter jumped because writes may have been lost. A durable server that was restarted from its own file lost
// nothing that was issued.
func logJump(logger *zap.Logger, key string, evidence scripts.Evidence, jump, low int64, durable scripts.DurableState) {
	log := logger.With(
		zap.String("key", key),
		zap.String("evidence", string(evidence)),
		zap.Int64("jump", jump),
		zap.Int64("low", low))
	switch {
	case durable.Holds():
		log.Info("the server was restarted: the counter continues above what was reserved")
	case evidence == scripts.EvidenceOrigin:
		log.Warn("the server was restarted or promoted, and may have lost writes: the counter jumped ahead")
	case evidence == scripts.EvidenceMissing:
		log.Error("the counter is gone: it was made again above the greatest number that this client has seen; hilo help recover")
	default:
		log.Error("the server lost writes: the counter jumped ahead; hilo help recover")
	}
}

func logCreated(logger *zap.Logger, key string) {
	logger.Info("counter created", zap.String("key", key))
}

// removals are the reasons for the removal of Durable.
var removals = map[scripts.DurableState]string{
	scripts.DurableReplica:  "a replica is connected",
	scripts.DurableHistory:  "the server was promoted, or restarted otherwise than from its append-only file",
	scripts.DurableCluster:  "it is a node of a cluster",
	scripts.DurableEvidence: "writes were lost all the same",
}

// logRemoval logs that a script removed a server's Durable, because it is not true. Only the reply to the request that removed
// it shows that, so it is logged once.
func logRemoval(logger *zap.Logger, key string, state scripts.DurableState) {
	logger.Error("Durable was removed from the server's settings, since it is not true: restarts make counters jump from now on",
		zap.String("key", key), zap.String("reason", removals[state]))
}

// logObstacle logs that a ceiling cannot be raised, and how long the rest of the numbers lasts. 0 means that it is unknown.
func logObstacle(logger *zap.Logger, key string, left int64, lasts time.Duration, obstacle error) {
	log := logger.With(zap.String("key", key), zap.Int64("left", left))
	if lasts > 0 {
		log = log.With(zap.Duration("lasts", lasts))
	}
	log.Error("the ceiling of a counter cannot be raised: no more numbers than these are issued until it is", zap.Error(obstacle))
}

// logRefusal logs a refusal, once for each counter and class, with mu held. A nil err ends it.
func (s *Server) logRefusal(of counterOf, err error) (log func()) {
	class := ""
	if err != nil {
		class = Failures[classify(err)].Name
	}
	if s.refused[of] == class {
		return func() {}
	}
	if err == nil {
		delete(s.refused, of)
		return func() {}
	}
	s.refused[of] = class
	return func() { s.log.Error("refused", zap.String("reason", class), zap.Error(err)) }
}
